"""A live cluster or a recording of one: read for scans, asked by policies, changed by `install`."""
