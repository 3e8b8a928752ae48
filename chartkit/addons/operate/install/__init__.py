"""Installs an environment in a live cluster, and takes it out again.

`cluster` reads and deletes objects through Kubernetes' own Python client, `releases` has Helm read
and write; `plan` says what there is to do, `run` and `remove` do it, `waiting` until it works.
"""
