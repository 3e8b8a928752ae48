"""Policy libraries and profiles: policy folders, their parameters, upstream policies, settings.

It reads and resolves; `charts` writes what follows. It imports `helm`, `network`, `output`,
`project`, `kyverno` and below.
"""
