"""Fixes of manifests, values files and kustomizations (`chartkit scan --fix`).

`solving` finds the changes of each object, which the engine confirms; `manifests`, `charts` and
`kustomizations` write them where the object comes from; `command` joins them to a scan.
"""
