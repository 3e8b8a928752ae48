"""The requests that a rule is about: match, exclude, operations, and the names of a request."""
