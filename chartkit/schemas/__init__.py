"""JSON Schemas of chartkit's files, and compact ones of Kubernetes' and Kyverno's types.

It imports `documents` and below.
"""
