"""The fields of Kubernetes' own kinds, and the mistakes of expressions about them."""

from __future__ import annotations

from chartkit.engine.cel.shapes.matching import kinds_matched
from chartkit.engine.cel.shapes.misspelt import KindIssues, misspelt
from chartkit.engine.cel.shapes.table import Shape, shape_of

__all__ = ["KindIssues", "Shape", "kinds_matched", "misspelt", "shape_of"]
