"""Objects as an API server stores them: what it fills in before policies see an object."""
