"""Kustomizations: their references, read without running anything, and their builds by the
`kustomize` or `kubectl` program, confined as Helm is."""

from pathlib import Path
from typing import Final

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""The names of kustomization files, in kustomize's order."""


def is_kustomization(file: Path) -> bool:
    """Report whether a file is a kustomization by its name."""
    return file.name in NAMES
