"""Selectors of kinds, as policies have them: `Pod`, `apps/v1/Deployment`, `Pod.status`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_VERSION: Final = re.compile(r"(v[0-9]((alpha|beta)[0-9])?|\*)")


class KindSelector(NamedTuple):
    """A kind selector taken apart, as in `apps/v1/Deployment` or `Pod.status`."""

    group: str
    version: str
    kind: str
    subresource: str


def is_version(text: str) -> bool:
    """Report whether a part of a selector is a version (or any: `*`), by Kyverno's rule."""
    return _VERSION.fullmatch(text) is not None


@lru_cache(maxsize=8_192)
def parse_kind_selector(text: str) -> KindSelector:
    """Split a kind selector as Kyverno's `ParseKindSelector` does."""
    head, _, tail = text.rpartition("/")
    parts = (head.split("/") if head else [""] if "/" in text else []) + tail.split(".")
    if len(parts) == 1:
        return KindSelector("*", "*", parts[0], "")
    if len(parts) == 2:
        first = parts[0]
        second = parts[1]
        if first == second == "*":
            return KindSelector("*", "*", "*", "*")
        if first == "*" and second.lower() == second:
            return KindSelector("*", "*", first, second)
        if is_version(first):
            return KindSelector("*", first, second, "")
        return KindSelector("*", "*", first, second)
    if len(parts) == 3:
        if is_version(parts[0]):
            return KindSelector("*", parts[0], parts[1], parts[2])
        return KindSelector(parts[0], parts[1], parts[2], "")
    if len(parts) == 4:
        return KindSelector(parts[0], parts[1], parts[2], parts[3])
    return KindSelector("", "", "", "")
