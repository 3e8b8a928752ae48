"""The part of an object that a rule reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.engine.cluster_policy.compiled_rule import CompiledRule
from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.pattern.build import Spot
from chartkit.engine.cluster_policy.pattern.objects import expansion_of
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Rule, RuleKind
from chartkit.engine.context.variables.syntax import OPEN, find_variables, split_text
from chartkit.engine.footprint import NOTHING_READ, Footprint, Root, UnboundedError, Values
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.footprint import read_expression
from chartkit.model import Body, Json

_OF_LOOPS: Final = ("element", "elementIndex")
_MOST_LOOPS: Final = 4
_OF_ALL: Final = (
    *("kind", "resource", "namespace", "operation", "oldObject"),
    *("userInfo", "roles", "clusterRoles"),
)
"""The fields of a request that are the same for all new objects of a kind, namespace and user."""
_NAMESPACE: Final = "Namespace"


def read_rules(rules: Iterable[CompiledRule], kind: str) -> Footprint:
    """Return what rules read of an object of a kind; raise `UnboundedError`.

    The namespace and its labels, the operation and the user are not in it.
    """
    found = Footprint()
    for compiled in rules:
        rule = compiled.rule
        if compiled.exceptions or rule.kind is not RuleKind.VALIDATE or rule.cel_preconditions:
            raise UnboundedError(rule.kind)
        for match in (rule.match, rule.exclude):
            if match is not None:
                _read_match(match, found.member("metadata"), kind)
        _read_body(rule, found)
    return found


def _read_match(match: Match, metadata: Footprint, kind: str) -> None:
    for one in (match.direct, *match.any, *match.all):
        _read_filter(one, metadata, kind)


def _read_filter(one: ResourceFilter, metadata: Footprint, kind: str) -> None:
    if one.name or one.names or (one.namespaces and kind == _NAMESPACE):
        metadata.member("name").is_whole = True
        metadata.member("generateName").is_whole = True
    if one.annotations:
        metadata.member("annotations").is_whole = True
    if one.selector is not None:
        metadata.member("labels").is_whole = True


def _read_body(rule: Rule, found: Footprint) -> None:
    validate = rule.validate
    own = _variables(found, in_loop=False)
    for written in (rule.preconditions, validate.deny, validate.message, dict(rule.properties)):
        _read_texts(written, own)
    _read_patterns((validate.pattern, validate.any_pattern), own, found)
    for loop in validate.foreach:
        _read_loop(loop, found)


def _read_loop(loop: Body, found: Footprint) -> None:
    """Note what a `foreach` reads: all of its elements."""
    inside = _variables(found, in_loop=True)
    listed = loop.get("list")
    if not isinstance(listed, str) or OPEN in listed:
        raise UnboundedError("a list")
    _read_query(listed.strip(), inside)
    _read_patterns((loop.get("pattern"), loop.get("anyPattern")), inside, found)
    _read_texts([loop.get("preconditions"), loop.get("deny")], inside)
    for inner in loop.get("foreach") or ():
        _read_loop(inner, found)


def _read_patterns(patterns: Iterable[Json], variables: Root, found: Footprint) -> None:
    single, several = patterns
    _read_texts([single, several], variables)
    if single is not None:
        _read_pattern(single, found)
    for each in several if isinstance(several, list) else [several]:
        if each is not None:
            _read_pattern(each, found)


def _variables(found: Footprint, *, in_loop: bool) -> Root:
    """Return the variables of a request for a new object, without what the world has."""
    alike = dict.fromkeys(_OF_ALL, NOTHING_READ)
    request = Root({"object": Values([(found, 0)]), **alike}, others=None)
    members: dict[str, Values] = {"request": request}
    if in_loop:
        numbered = (f"{name}{level}" for name in _OF_LOOPS for level in ("", *range(_MOST_LOOPS)))
        members |= dict.fromkeys(numbered, NOTHING_READ)
    return Root(members, others=None)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


def _read_texts(value: Json, variables: Root) -> None:
    """Note what the variables in texts read; raise `UnboundedError`."""
    for text in _texts(value):
        if "$(" in text:
            raise UnboundedError(text)
        if OPEN in text:
            found = find_variables(text)
            if any(OPEN in part for part in split_text(text, found)):
                raise UnboundedError(text)
            for each in found:
                _read_query(each.query, variables)


def _read_query(query: str, variables: Root) -> None:
    # The images are read from all containers as soon as a query has the word.
    if "images" in query:
        raise UnboundedError(query)
    try:
        read_expression(query, variables).read()
    except JMESPathError:
        raise UnboundedError(query) from None


def _read_pattern(pattern: Json, value: Footprint) -> None:
    """Note what a pattern looks at in a value."""
    if isinstance(pattern, dict):
        _object(pattern, value)
    elif isinstance(pattern, list) and pattern and all(isinstance(one, dict) for one in pattern):
        for each in pattern:
            _read_pattern(each, value.element())
    else:
        value.is_whole = True


def _object(pattern: Body, value: Footprint) -> None:
    if expansion_of(pattern, Spot()) is not None:
        # Wildcards stand for keys that are there.
        value.member("metadata").is_whole = True
    for written, inner in pattern.items():
        if "{{" in written:
            value.is_whole = True
        anchor = parse_anchor(written)
        if anchor is None or anchor.kind is AnchorKind.ADDITION:
            member = value.member(written)
            if inner != "*":
                _read_pattern(inner, member)
            continue
        # The fields of a failure name the members of what must not be there.
        forbids = anchor.kind is AnchorKind.NEGATION
        _read_pattern(None if forbids else inner, value.member(anchor.key))
