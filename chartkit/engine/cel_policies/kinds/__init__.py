"""The kinds of policies in CEL, one a module: how each evaluates a request."""
