"""`chartkit promote`: from Audit to Enforce by evidence.

`evidence` puts the policies of an environment before its workloads and clusters, `sources` reads
it and what Kyverno reported, `decision` has one for each policy, and `edits`, `promotions` and
`exceptions` carry a plan out in the project's files. Imports `render` and below.
"""
