"""Installs an environment in a live cluster, and takes it out again.

`plan` decides what there is to do, `run` does it by the `releases` of Helm, `verify` waits until it
works and compares what is stored.
"""
