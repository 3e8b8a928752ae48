"""The fields of an object by which a rule came to speak of it, for rules that refuse whatever they
match."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.engine.cluster_policy.match import Facts, bind_match
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import FieldPath
from chartkit.schemas.kind_selectors import parse_kind_selector

_ANY = "*"


def matched_fields(
    match: Match, facts: Facts, kind: GroupVersionKind, sub: str
) -> Iterator[FieldPath]:
    """Yield the fields that the filters which take an object look at; its kind alone is none."""
    direct = () if match.any or match.all else (match.direct,)
    for each in (*match.any, *match.all, *direct):
        matches = bind_match(Match(direct=each), None, "", kind, sub)
        if matches is not None and matches(facts):
            yield from _of_filter(each, facts, kind)


def _of_filter(one: ResourceFilter, facts: Facts, kind: GroupVersionKind) -> Iterator[FieldPath]:
    if one.name or one.names:
        yield ("metadata", "name")
    if one.namespaces:
        yield ("metadata", "name" if facts.kind == "Namespace" else "namespace")
    for pattern in one.annotations or ():
        fits = compile_wildcard(pattern)
        yield from (("metadata", "annotations", key) for key in facts.annotations if fits(key))
    if one.selector is not None:
        keys = (*dict(one.selector.labels), *(each.key for each in one.selector.expressions))
        yield from (("metadata", "labels", *(() if has_wildcard(key) else (key,))) for key in keys)
    if any(_names_version(each, kind) for each in one.kinds):
        yield ("apiVersion",)


def _names_version(selector: str, kind: GroupVersionKind) -> bool:
    _group, version, name, _sub = parse_kind_selector(selector)
    return version not in (_ANY, "") and compile_wildcard(name)(kind.kind)
