"""Child processes with limits, in which the code of strangers runs.

`limits` is shared; `process` is the parent's side; `confine`, `launch` and `helm_worker` run in the
child, which is started without site packages: they import the standard library and `limits` alone.
"""
