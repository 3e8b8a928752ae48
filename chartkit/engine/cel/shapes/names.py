"""Names of kinds and resources that are perhaps those of Kubernetes' own, misspelt."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from chartkit.engine.cel.shapes.table import known_kinds
from chartkit.engine.kubernetes.kinds import resource_name

_LIKE: Final = 0.8
"""The share of equal letters from which on a name is no custom kind: `Cluster` is one, beside
`ClusterRole`."""
_NONE: Final = (0.0, "")


def meant_kind(group: str, kind: str) -> str | None:
    """Return the kind that is meant by a name that is none of a group's; None for a name that is,
    or is like none, and for groups that are not Kubernetes' own. `*`: any group."""
    return _meant(kind, [each.kind for each in known_kinds() if group in ("*", each.group)])


@lru_cache(maxsize=1024)
def meant_resource(groups: tuple[str, ...], resource: str) -> str | None:
    """Return the resource (`pods`) that is meant by a name that is none of some groups."""
    known = [resource_name(each.kind) for each in known_kinds() if each.group in groups]
    return _meant(resource, known)


def _meant(name: str, known: list[str]) -> str | None:
    if name in known or "*" in name or "?" in name:
        return None
    ratio, meant = max(
        ((_ratio(name.lower(), each.lower()), each) for each in known), default=_NONE
    )
    return meant if ratio >= _LIKE else None


def _ratio(name: str, other: str) -> float:
    """Return the share of equal letters, 0 for less than is asked for."""
    if 2 * min(len(name), len(other)) < _LIKE * (len(name) + len(other)):
        return 0.0
    matcher = SequenceMatcher(None, name, other)
    return matcher.ratio() if matcher.quick_ratio() >= _LIKE else 0.0
