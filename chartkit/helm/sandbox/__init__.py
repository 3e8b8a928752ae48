"""Child processes with limits, in which the code of strangers runs.

`process` is the parent's side, with the limits; `confine` and `helm_worker` run in the child, which
starts without site packages: they import the standard library and each other.
"""
