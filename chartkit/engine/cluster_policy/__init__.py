"""ClusterPolicy and Policy: read, compiled, and their rules run against a request."""
