"""`kyverno.hash`: digests of texts, in hexadecimal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import MappingProxyType

from chartkit.engine.cel.declarations import Library, Overload, Variable, declared
from chartkit.engine.cel.library.kyverno.spellings import prefixed
from chartkit.engine.cel.types import STRING

_Digest = Callable[[bytes], str]


def _declare(name: str, title: str, digest: _Digest, expected: str) -> tuple[Overload, ...]:
    return prefixed(
        f"{name}_string: hash.{name}(string) -> string",
        f"The {title} digest of a text, in hexadecimal.",
        f"hash.{name}('abc')  // '{expected}'",
    )(lambda text: digest(text.encode("utf-8", "surrogatepass")))


_SHA1 = _declare(
    "sha1",
    "SHA-1",
    lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(),
    "a9993e364706816aba3e25717850c26c9cd0d89d",
)
_SHA256 = _declare(
    "sha256",
    "SHA-256",
    lambda data: hashlib.sha256(data).hexdigest(),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
)
_MD5 = _declare(
    "md5",
    "MD5",
    lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
    "900150983cd24fb0d6963f7d28e17f72",
)

LIBRARY = Library(
    "kyverno.hash",
    overloads=declared(globals()),
    # Kyverno's library brings this name, and nothing uses it.
    variables=MappingProxyType({"mylib_version": Variable(STRING, "", has_value=True)}),
    doc="Digests of texts.",
)
