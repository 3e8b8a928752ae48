"""Requests made from leaves: their kinds, the values of each place, and their order.

It imports `leaves`, the shapes of Kubernetes' kinds and the defaults of an API server.
"""
