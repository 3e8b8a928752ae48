"""Facts about Kyverno's releases: compatibility, fields, functions, faults, upgrades.

The facts of each release are in `releases.yaml`. It imports `schemas`, `documents` and below, never a chart.
"""
