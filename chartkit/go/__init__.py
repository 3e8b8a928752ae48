"""Go's and Kubernetes' values as Go reads, compares and prints them, with its error messages.

One module a package of Go (`strconv`, `encoding/json`, `net/url`, `time` …). It imports
`documents`, `model` and `errors`.
"""
