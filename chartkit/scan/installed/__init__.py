"""Kyverno as it is installed in a cluster, or recorded, for scans of files by its policies."""
