"""JMESPath's functions, Kyverno's among them: one declaration each."""

from __future__ import annotations

from chartkit.addons.migrate.jmespath.functions import collections, numbers, texts
from chartkit.addons.migrate.jmespath.functions.declaration import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "collections",
    "numbers",
    "texts",
]
