"""The fields of Kubernetes' own kinds, and the mistakes of expressions about them."""

from __future__ import annotations

from chartkit.engine.cel.shapes.matching import kinds_matched
from chartkit.engine.cel.shapes.misspelt import misspelt

__all__ = [
    "kinds_matched",
    "misspelt",
]
