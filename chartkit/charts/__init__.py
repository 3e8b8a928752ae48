"""The charts that chartkit generates: the engine's, the policies', and upstream's in their place.

It imports `library`, `project`, `helm`, `kyverno`, `network` and below, never the engine.
"""
