"""Kustomizations: their references, read without running anything, and their builds by the
`kustomize` or `kubectl` program, confined as Helm is."""
