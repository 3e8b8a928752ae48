"""From the policies of kyverno.io to those of policies.kyverno.io: what there is, and what to do.

It imports `scan`, `engine`, `helm` and below; `values/migrate` moves values files.
"""
