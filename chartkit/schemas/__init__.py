"""Compact schemas of Kubernetes' and Kyverno's types, read by the charts and the engine."""
