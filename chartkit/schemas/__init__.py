"""Compact schemas of Kubernetes' and Kyverno's types, read by charts, lint and editors."""
