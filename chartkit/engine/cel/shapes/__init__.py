"""The fields of Kubernetes' own kinds, and the mistakes of expressions about them."""

from __future__ import annotations

from chartkit.engine.cel.shapes.matching import kinds_matched
from chartkit.engine.cel.shapes.misspelt import misspelt
from chartkit.engine.cel.shapes.table import Field, fields_of, type_of_kind

__all__ = [
    "Field",
    "fields_of",
    "kinds_matched",
    "misspelt",
    "type_of_kind",
]
