"""`chartkit render --gitops`: the charts as deployers install them, one module a deployer.

`checks` finds values that go wrong there.
"""
