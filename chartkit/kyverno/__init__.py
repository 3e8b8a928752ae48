"""Facts about Kyverno's releases: compatibility, fields, functions, faults, upgrades.

`releases.yaml` holds the facts of each release. It imports `schemas`, `documents` and below.
"""
