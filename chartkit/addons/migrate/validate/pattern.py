"""Patterns as expressions: objects key by key in Kyverno's order, anchors by their meaning."""

from __future__ import annotations

from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.names import loop_variable
from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT, Place
from chartkit.addons.migrate.expressions.verdict import (
    Verdict,
    any_of,
    condition,
    conjunction,
    disjunction,
    if_present,
    in_order,
    of_elements,
    plain,
)
from chartkit.addons.migrate.expressions.wildcards import fits
from chartkit.addons.migrate.validate.leaves import leaf, leaf_or_nothing
from chartkit.addons.migrate.validate.variables import VariableText, same
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind, in_phases, parse_anchor
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import Body, Json

_TAGS: Final = ("metadata.labels", "metadata.annotations")
_TEXTS: Final = "{}string"


def pattern_verdict(pattern: Json, place: Place, taken: frozenset[str] = frozenset()) -> Verdict:
    """Return what a pattern says of the value at a place; taken: the variables in use.

    Raises `NotConvertible`.
    """
    if isinstance(pattern, VariableText):
        return plain(same(place, pattern))
    if isinstance(pattern, dict):
        return _object(pattern, place, taken)
    if isinstance(pattern, list):
        if not pattern:
            raise NotConvertible("an empty list in a pattern matches nothing")
        first = pattern[0]
        if isinstance(first, list):
            raise NotConvertible("a list of lists in a pattern")
        place = place.taken_for(ANY_LIST)
        if not place.is_list:
            raise NotConvertible("the pattern has a list where the field is none")
        variable = loop_variable(place, taken)
        element = place.element(variable)
        inner = pattern_verdict(first, element, taken | {variable})
        return of_elements(place.or_value([]), variable, inner)
    return plain(leaf(place, pattern))


def any_pattern_verdict(
    patterns: Json, place: Place, taken: frozenset[str] = frozenset()
) -> Verdict:
    """Return what a list of alternative patterns says; raises `NotConvertible`."""
    if not isinstance(patterns, list) or not patterns:
        raise NotConvertible("anyPattern is no list of patterns", "validate/anyPattern")
    return any_of([pattern_verdict(each, place, taken) for each in patterns])


def _object(pattern: Body, place: Place, taken: frozenset[str]) -> Verdict:
    place = place.taken_for(ANY_MAP)
    if place.path.endswith(_TAGS) and not all(isinstance(v, str) for v in pattern.values()):
        raise NotConvertible("a label or an annotation is compared with a value that is no text")
    if not place.is_map:
        raise NotConvertible("the pattern has an object where the field is none")
    if any("{{" in key for key in pattern):
        raise NotConvertible("a variable in a key of a pattern")
    first, then = in_phases(pattern)
    anchored = [(key, _entry(key, pattern[key], place, taken)) for key in first]
    conditions = [verdict for key, verdict in anchored if _is_condition(key)]
    others = [verdict for key, verdict in anchored if not _is_condition(key)]
    if len(anchored) > 1:
        if not conditions and not any(each.always_applies for each in others):
            raise NotConvertible("several lists in anchors, each with conditions of its own")
        # A list of which no element applies does not count next to an anchor that holds.
        others = [plain(each.allows) for each in others]
    applied = [verdict if _is_condition(key) else others.pop(0) for key, verdict in anchored]
    return in_order([*applied, *(_entry(key, pattern[key], place, taken) for key in then)])


def _is_condition(written: str) -> bool:
    anchor = parse_anchor(written)
    return anchor is not None and anchor.kind is AnchorKind.CONDITION


def _entry(written: str, pattern: Json, place: Place, taken: frozenset[str]) -> Verdict:
    anchor = parse_anchor(written)
    if anchor is None or anchor.kind is AnchorKind.ADDITION:
        if has_wildcard(written):
            return _wild_entry(None, written, pattern, place)
        child = place.child(written)
        if pattern == "*":
            known = child.is_known
            return plain(child.is_present() if known else cel.not_equal(child.or_value(None), None))
        if isinstance(pattern, dict | list):
            return _required(pattern, child, taken)
        return pattern_verdict(pattern, child, taken)
    if has_wildcard(anchor.key):
        return _wild_entry(anchor.kind, anchor.key, pattern, place)
    child = place.child(anchor.key)
    match anchor.kind:
        case AnchorKind.NEGATION:
            return plain(cel.negate(child.is_present()))
        case AnchorKind.EXISTENCE:
            exists = _exists(pattern, child.settled(), taken)
            return if_present(child.is_present(), plain(exists))
        case AnchorKind.CONDITION:
            return condition(_required(pattern, child, taken).holds)
        case AnchorKind.GLOBAL:
            return condition(_where_present(pattern, child, taken).holds)
        case _:
            return _where_present(pattern, child, taken)


def _wild_entry(kind: AnchorKind | None, key: str, pattern: Json, place: Place) -> Verdict:
    """Return the verdict of a key with wildcards, which labels and annotations may have."""
    if place.type != _TEXTS:
        raise NotConvertible(f"the key {key} has a wildcard, and is no label and no annotation")
    name = cel.ident("key")
    entries, named = place.or_value({}), fits(name, key)
    if kind is AnchorKind.NEGATION:
        return plain(cel.negate(cel.macro(entries, "exists", "key", named)))
    if pattern != "*" and compile_scalar(pattern)(None):
        raise NotConvertible(f"the key {key} has a wildcard, and its value may be zero")
    entry = Place(cel.index(place.value, name), (), TEXT)
    test = cel.TRUE if pattern == "*" else leaf(entry, pattern)
    if kind in (AnchorKind.EQUALITY, AnchorKind.GLOBAL):
        every = cel.macro(entries, "all", "key", disjunction(cel.negate(named), test))
        return plain(every) if kind is AnchorKind.EQUALITY else condition(every)
    some = cel.macro(entries, "exists", "key", conjunction(named, test))
    return condition(some) if kind is AnchorKind.CONDITION else plain(some)


def _required(pattern: Json, child: Place, taken: frozenset[str]) -> Verdict:
    """Return the verdict of a pattern that fails where there is no value."""
    verdict = pattern_verdict(pattern, child, taken)
    present = child.is_present()
    if present == cel.TRUE or (_fails_on_nothing(pattern) and verdict.always_applies):
        return verdict
    return in_order([plain(present), pattern_verdict(pattern, child.settled(), taken)])


def _fails_on_nothing(pattern: Json) -> bool:
    """Return whether the test of a pattern fails by itself where there is no value."""
    if isinstance(pattern, dict):
        return any(
            parse_anchor(key) is None and (value == "*" or _fails_on_nothing(value))
            for key, value in pattern.items()
        )
    if isinstance(pattern, list):
        return False
    if isinstance(pattern, VariableText):
        # A size that is absent counts as zero, which the variable may be.
        return pattern.place.type == TEXT
    return not compile_scalar(pattern)(None)


def _where_present(pattern: Json, child: Place, taken: frozenset[str]) -> Verdict:
    """Return the verdict of a pattern that counts only where there is a value."""
    if not child.is_optional:
        return pattern_verdict(pattern, child, taken)
    if isinstance(pattern, list) and pattern and isinstance(pattern[0], dict):
        return pattern_verdict(pattern, child, taken)
    if isinstance(pattern, dict) and all(map(_holds_on_nothing, pattern)):
        return pattern_verdict(pattern, child, taken)
    if not isinstance(pattern, dict | list | VariableText):
        return plain(leaf_or_nothing(child, pattern))
    return if_present(child.is_present(), pattern_verdict(pattern, child.settled(), taken))


def _holds_on_nothing(written: str) -> bool:
    anchor = parse_anchor(written)
    return anchor is not None and anchor.kind in (AnchorKind.EQUALITY, AnchorKind.NEGATION)


def _exists(pattern: Json, child: Place, taken: frozenset[str]) -> Expr:
    if not isinstance(pattern, list) or not all(isinstance(each, dict) for each in pattern):
        raise NotConvertible("an existence anchor needs a list of objects")
    variable = loop_variable(child, taken)
    element = child.element(variable)
    return conjunction(
        *(
            cel.macro(
                child.value,
                "exists",
                variable,
                pattern_verdict(each, element, taken | {variable}).holds,
            )
            for each in pattern
        )
    )
