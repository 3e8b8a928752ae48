"""Names of kinds and resources that are perhaps those of Kubernetes' own, misspelt."""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import GroupVersionKind, resource_name
from chartkit.engine.scalars.wildcard import compile_wildcard

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


SETTLED: Final = frozenset(
    ("", "apps", "autoscaling", "batch", "extensions", "networking.k8s.io", "policy")
) | {"rbac.authorization.k8s.io"}
"""Groups whose kinds and versions are those of the table, in every Kubernetes that there is."""
_YOUNG: Final = frozenset(("IPAddress", "ServiceCIDR"))


def served_elsewhere(
    groups: tuple[str, ...], versions: tuple[str, ...], is_meant: Callable[[GroupVersionKind], bool]
) -> str:
    """Return where one of Kubernetes' own kinds is, such as `apps/v1`, for groups and versions in
    which no API server has it; empty where one has, and for groups that may have others."""
    own = [kind for kind in known_kinds() if kind.kind not in _YOUNG and is_meant(kind)]
    if not SETTLED.issuperset(groups):
        return ""
    fits = [compile_wildcard(version) for version in versions]
    if any(kind.group in groups and any(fit(kind.version) for fit in fits) for kind in own):
        return ""
    return ", ".join("/".join(filter(None, kind[:2])) for kind in own)


@lru_cache(maxsize=1024)
def kinds_called(resource: str) -> tuple[GroupVersionKind, ...]:
    """Return Kubernetes' own kinds of a resource (`pods`), of any group."""
    return tuple(kind for kind in known_kinds() if resource_name(kind.kind) == resource)


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
