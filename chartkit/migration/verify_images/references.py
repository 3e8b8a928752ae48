"""Wildcards over references of images, which a ClusterPolicy completes and CEL does not.

A ClusterPolicy compares `docker.io/nginx:latest` where an object says `nginx`, and leaves out the
tag of an image that has a digest, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.assembly import text
from chartkit.migration.expressions.wildcards import fits_any
from chartkit.model import Body

_ANY: Final = "*"
_PLAIN: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?/[a-z0-9._/-]*\*")
"""A registry with a dot and the beginning of a path: what a reference begins with in any case."""
_HOST: Final = "^([^/]*[.:A-Z][^/]*|localhost)/"
_TAG: Final = ":[^/@]*@"
_COMPLETE: Final = "[:@][^/]*$"
_DEFAULT: Final = "docker.io/"
_NAMED: Final = "image"


def match_references(patterns: Sequence[str]) -> list[Body]:
    """Return `matchImageReferences`; none for every image."""
    if _ANY in patterns:
        return []
    globs: list[Body] = [{"glob": each} for each in patterns if _is_plain(each)]
    others = [each for each in patterns if not _is_plain(each)]
    if others:
        globs.append({"expression": text(names(cel.ident("ref"), others))})
    return globs


def _is_plain(pattern: str) -> bool:
    return _PLAIN.fullmatch(pattern) is not None


def names(reference: Expr, patterns: Sequence[str]) -> Expr:
    """Return whether an image, as an object names it, is one of those of wildcards."""
    if _ANY in patterns:
        return cel.TRUE
    if all(map(_is_plain, patterns)):
        return fits_any(reference, patterns)
    has_host = cel.method(reference, "matches", _HOST)
    named = cel.conditional(has_host, reference, cel.concat(_DEFAULT, reference))
    untagged = cel.call("regex.replace", named, _TAG, "@")
    image = cel.ident(_NAMED)
    is_complete = cel.method(image, "matches", _COMPLETE)
    full = cel.conditional(is_complete, image, cel.concat(image, ":latest"))
    return cel.bind(_NAMED, untagged, _fits_any(full, patterns))


def _fits_any(full: Expr, patterns: Sequence[str]) -> Expr:
    if len(patterns) == 1:
        return fits_any(full, patterns)
    return cel.bind("full", full, fits_any(cel.ident("full"), patterns))
