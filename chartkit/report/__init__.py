"""Writers of results, one a format."""
