"""The kinds of policies in CEL, one a module: how each judges a request."""
