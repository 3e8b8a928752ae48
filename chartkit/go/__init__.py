"""Go's and Kubernetes' values as Go reads, compares and prints them, with its error messages.

One module a package of Go (`strconv`, `encoding/json`, `net/url`, `time` …). It imports
`documents`, `model` and `errors`.
"""


class GoError(ValueError):
    """A value that a library of Go refuses; the message is Go's."""
