"""The policies of an admission server, from the same options as those of a scan."""
