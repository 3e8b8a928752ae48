"""Facts about Kyverno's releases: compatibility, fields, functions, faults, upgrades.

The data is in `data/`. It imports `schemas`, `documents` and below, never a chart.
"""
