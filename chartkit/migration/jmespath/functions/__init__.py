"""JMESPath's functions, Kyverno's among them: one declaration each."""

from __future__ import annotations

from chartkit.migration.jmespath.functions import (
    collections,
    encodings,
    numbers,
    patterns,
    texts,
    times,
)
from chartkit.migration.jmespath.functions.declaration import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "collections",
    "encodings",
    "numbers",
    "patterns",
    "texts",
    "times",
]
