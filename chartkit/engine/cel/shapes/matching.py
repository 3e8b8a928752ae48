"""The built-in kinds that a rule about resources matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version, resource_name

MOST_KINDS: Final = 10
"""An API server checks an expression against so many kinds at most."""

_ANY: Final = "*"


def kinds_matched(
    groups: Sequence[str], versions: Sequence[str], resources: Sequence[str]
) -> tuple[GroupVersionKind, ...]:
    """The kinds that a rule names, by group, version and kind; at most `MOST_KINDS`.

    As an API server does it: a rule with a wildcard among its groups or versions names none, and
    resources with a wildcard and subresources are passed over.
    """
    if any(_ANY in each for each in (*groups, *versions)):
        return ()
    found: set[GroupVersionKind] = set()
    for group in sorted(groups):
        for version in sorted(versions):
            for resource in sorted(resources):
                kind = _by_resource().get((group, version, resource))
                if kind is not None and len(found) < MOST_KINDS:
                    found.add(kind)
    return tuple(sorted(found))


def own_kind(api_version: str, resource: str) -> GroupVersionKind | None:
    """The kind of a resource (`pods`) where it is one of Kubernetes' own, None for any other."""
    return _by_resource().get((*parse_api_version(api_version), resource))


@cache
def _by_resource() -> Mapping[tuple[str, str, str], GroupVersionKind]:
    return {(kind.group, kind.version, resource_name(kind.kind)): kind for kind in known_kinds()}
