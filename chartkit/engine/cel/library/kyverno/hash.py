"""`kyverno.hash`: digests of texts, in hexadecimal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Library, Variable
from chartkit.engine.cel.library.kyverno.spellings import prefixed
from chartkit.engine.cel.types import STRING


def _digest(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(
        name, text.encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


_DIGESTS: Final = tuple(
    overload
    for name in ("sha1", "sha256", "md5")
    for overload in prefixed(f"{name}_string: hash.{name}(string) -> string")(_digest(name))
)

LIBRARY = Library(
    "kyverno.hash",
    overloads=_DIGESTS,
    # Kyverno's library brings this name, and nothing uses it.
    variables=MappingProxyType({"mylib_version": Variable(STRING, "", has_value=True)}),
)
