"""A live cluster, or what was recorded of one, as what is scanned and as what policies ask."""
