"""Kubernetes' own libraries, as its API server 1.36 has them."""
