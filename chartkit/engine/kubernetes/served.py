"""The kinds of Kubernetes that an API server of a minor version serves.

Source: the schemas of Kubernetes 1.25 to 1.37, compared by tools/kind_shapes.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from chartkit.engine.kubernetes.field_faults import NEWEST, OLDEST, kind_table
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version
from chartkit.suggestions import suggestion

_MINOR: Final = re.compile(r"v?1\.(\d{1,3})(?!\d)")
_NEVER_STORED: Final = ("Config", "List", "Options", "Review", "Status")
"""The ends of kinds that are in files, and are not objects of an API server."""
_COMMON: Final[Mapping[str, frozenset[str]]] = {
    "v1": frozenset(("ConfigMap", "Namespace", "Pod", "Secret", "Service", "ServiceAccount")),
    "apps/v1": frozenset(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    "batch/v1": frozenset(("CronJob", "Job")),
}
"""Kinds that every version serves, for which the table of all kinds is not loaded."""


class KindFault(NamedTuple):
    """problem: as in `Kubernetes 1.37 does not serve Deployment of apps/v1beta1`."""

    problem: str
    hint: str | None = None


def minor_of(version: str | None) -> int:
    """Return the minor version of Kubernetes that a text names (`v1.34.0`), within those of the
    table; the newest for any other text, and for none."""
    found = _MINOR.match(version or "")
    return max(OLDEST, min(int(found[1]), NEWEST)) if found else NEWEST


@lru_cache(maxsize=1024)
def kind_fault(api_version: str, kind: str, minor: int = NEWEST) -> KindFault | None:
    """Return why an API server of a minor version does not serve a kind; None for a kind that it
    serves, and for groups that are not Kubernetes' own."""
    if kind in _COMMON.get(api_version, ()) or kind.endswith(_NEVER_STORED):
        return None
    group, version = parse_api_version(api_version)
    wanted = GroupVersionKind(group, version, kind)
    kinds = _kinds()
    if group not in _groups():
        return None
    span = kinds.get(wanted)
    if span is not None and minor in span:
        return None
    problem = f"Kubernetes 1.{minor} does not serve {kind} of {api_version}"
    if span is not None:
        came, went = span.start, span.stop
        problem += f": it came with 1.{came}" if minor < came else f": it was removed in 1.{went}"
    served = [each for each, when in kinds.items() if minor in when]
    if places := _places(group, kind, served):
        return KindFault(problem, f"it is in {places}")
    return KindFault(problem, _meant(group, kind, served))


def _places(group: str, kind: str, served: Collection[GroupVersionKind]) -> str:
    """Return the groups and versions of a kind, those of its group first; at most two."""
    named = [each for each in served if each.kind == kind]
    named.sort(key=lambda each: (each.group != group, len(each.version), each.version))
    own = [each for each in named if each.group == group]
    return " and ".join("/".join(filter(None, each[:2])) for each in (own or named)[:2])


def _meant(group: str, kind: str, served: Collection[GroupVersionKind]) -> str | None:
    own = (each.kind for each in served if each.group == group)
    return suggestion(kind, own) or suggestion(kind, (each.kind for each in served))


@cache
def _kinds() -> Mapping[GroupVersionKind, range]:
    """The minor versions that serve each kind, from the oldest schema to the newest."""
    table = kind_table()
    since, until = table["sinceKinds"], table["untilKinds"]
    parts = (text.rpartition("/") for text in sorted({*table["kinds"], *until}))
    return {
        GroupVersionKind(*parse_api_version(api_version), kind): range(
            since.get(f"{api_version}/{kind}", OLDEST),
            until.get(f"{api_version}/{kind}", NEWEST) + 1,
        )
        for api_version, _, kind in parts
    }


@cache
def _groups() -> frozenset[str]:
    return frozenset(("extensions", *(kind.group for kind in _kinds())))
