"""Objects as an API server stores them, with the defaults that it fills in before policies see
them."""
