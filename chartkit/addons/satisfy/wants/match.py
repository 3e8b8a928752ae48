"""The objects that a rule applies to, as formulas: names, namespaces, labels and annotations."""

from __future__ import annotations

from chartkit.addons.satisfy.formula import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Place,
    Source,
    Unknown,
    all_of,
    any_of,
    opposite,
)
from chartkit.addons.satisfy.texts import Language
from chartkit.addons.satisfy.values import Test, one_of, present
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Rule
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard

REQUEST = "request"
"""The variable of places that no rule for pod controllers moves."""


def match_formula(rule: Rule, kind: GroupVersionKind, source: Source, namespace: str) -> Formula:
    """Return when a rule applies to objects of a kind; namespace: of its policy, empty for a
    ClusterPolicy."""
    parts = [_block(rule.match, kind, source)]
    if namespace:
        parts.append(Atom(_metadata("namespace"), one_of((namespace,)), source))
    if rule.exclude is not None:
        parts.append(opposite(_block(rule.exclude, kind, source)))
    return all_of(*parts)


def _metadata(*steps: str) -> Place:
    return Place(REQUEST, ("metadata", *steps))


def _block(match: Match, kind: GroupVersionKind, source: Source) -> Formula:
    if match.any:
        return any_of(*(_filter(each, kind, source) for each in match.any))
    if match.all:
        return all_of(*(_filter(each, kind, source) for each in match.all))
    return _filter(match.direct, kind, source)


def _filter(one: ResourceFilter, kind: GroupVersionKind, source: Source) -> Formula:
    if one.kinds and not compile_kinds(one.kinds)(kind, ""):
        return FALSE
    parts: list[Formula] = []
    if one.name:
        parts.append(_among(_metadata("name"), (one.name,), source))
    if one.names:
        parts.append(_among(_metadata("name"), one.names, source))
    if one.namespaces:
        parts.append(_among(_metadata("namespace"), one.namespaces, source))
    if one.operations:
        parts.append(TRUE if "CREATE" in one.operations else FALSE)
    if one.selector is not None:
        parts.append(selector_formula(one.selector, _metadata("labels"), source))
    for key, value in (one.annotations or {}).items():
        place = _metadata("annotations").child(key)
        is_open = has_wildcard(key)
        parts.append(Unknown(key) if is_open else _among(place, (str(value),), source))
    if one.namespace_selector is not None or one.has_user:
        parts.append(Unknown("a namespace's labels, or the user"))
    return all_of(*parts)


def _among(place: Place, wildcards: tuple[str, ...], source: Source) -> Formula:
    return any_of(*(Atom(place, _wildcard_test(each), source) for each in wildcards))


def _wildcard_test(wildcard: str) -> Test:
    matches = compile_wildcard(wildcard)
    probes = () if has_wildcard(wildcard) else (wildcard,)
    return Test(
        wildcard,
        lambda value: isinstance(value, str) and matches(value),
        probes,
        is_closed=bool(probes),
        languages=(Language(wildcard),),
        is_positive=True,
    )


def selector_formula(selector: LabelSelector, labels: Place, source: Source) -> Formula:
    """Return when labels meet a selector."""
    parts: list[Formula] = []
    for key, value in selector.labels.items():
        is_open = has_wildcard(key)
        parts.append(Unknown(key) if is_open else _among(labels.child(key), (value,), source))
    for one in selector.expressions:
        atom = Atom(labels.child(one.key), present(), source)
        if one.operator in ("In", "NotIn"):
            atom = Atom(labels.child(one.key), one_of(tuple(one.values)), source)
        negative = one.operator in ("NotIn", "DoesNotExist")
        parts.append(opposite(atom) if negative else atom)
    return all_of(*parts)
