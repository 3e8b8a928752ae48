"""`chartkit render --gitops`: the charts as deployers install them, one module a deployer.

It imports `project`, `output` and `documents`.
"""
