"""Facts about Kyverno's releases: compatibility, fields, functions, faults.

`releases.yaml` holds the facts of each release. It imports `schemas`, `documents` and below.
"""
