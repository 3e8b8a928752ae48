"""The project file `chartkit.yaml`: read and typed, without a look at what it names.

It imports `kyverno`, `schemas`, `documents` and below.
"""
