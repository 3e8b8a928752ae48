"""Kubernetes' kinds, label selectors and definitions, as the engine needs them."""
