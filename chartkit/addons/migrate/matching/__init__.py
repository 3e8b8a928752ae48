"""The requests that a rule speaks of: match, exclude, operations, and the names of a request."""
