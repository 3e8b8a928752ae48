"""The place in a policy of what Kyverno's webhook refuses, found by the words of its message.

Kyverno names a rule, a variable or a path, some of them wrong. What it names is looked up in the
document: without a match the place is the rule's, or the policy's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.jmespath import (
    ExpressionSyntaxError,
    JMESPathError,
    compile_expression,
)
from chartkit.model import FieldPath, Json, Location, list_of, pointer_of, texts_below, values_below
from chartkit.suggestions import nearest, suggestion

Place = tuple[Location, str | None]
"""A place, and a hint about what was meant there."""

_RULE_NAME: Final = re.compile(r'for rule (?:autogen-(?:cronjob-)?)?(.+?):|rule "(.+?)" should')
_RULE_PATH: Final = re.compile(r"spec[./]rules\[(\d+)\]((?:[./]\w+(?:\[\d+\])?)*)")
_STEP: Final = re.compile(r"\w+")
_NOT_ALLOWED: Final = re.compile(
    r"(?:^|: )variable (?!substitution)(.+?) must match regex", re.DOTALL
)
_NO_QUERY: Final = re.compile(
    r"failed to resolve (.*?) at path .*?: invalid JMESPath query", re.DOTALL
)
_OPERATOR: Final = "entered value of `operator` is invalid"
_QUERY_NAMES: Final = (
    "request.object",
    "request.oldObject",
    "request.operation",
    "request.namespace",
    "request.userInfo",
    "element",
    "elementIndex",
    "images",
    "serviceAccountName",
    "serviceAccountNamespace",
)


def fault_place(policy: Policy, fault: str) -> Place:
    """Return the place of a fault in the policy's document, with a hint, if it can be found."""
    rule = _rule(policy, fault)
    for pattern, find in _FINDERS.items():
        if named := pattern.search(fault):
            return find(policy, rule, named) or _named_path(policy, rule, fault)
    return _named_path(policy, rule, fault)


def _rule(policy: Policy, fault: str) -> FieldPath:
    """Return the path of the rule that a message names, else the path of the specification."""
    if path := _RULE_PATH.search(fault):
        return ("spec", "rules", int(path[1]))
    if named := _RULE_NAME.search(fault):
        for index, rule in enumerate(policy.rules):
            if rule.name == (named[1] or named[2]):
                return ("spec", "rules", index)
    return ("spec",)


def _named_path(policy: Policy, rule: FieldPath, fault: str) -> Place:
    """Return the place of the path in a message, as far as it exists in the document."""
    path = _RULE_PATH.search(fault)
    steps = (*rule, *_STEP.findall(path[2])) if path else rule
    return policy.resource.location.within(pointer_of(*steps) if len(steps) > 1 else ""), None


def _variable(policy: Policy, rule: FieldPath, named: re.Match[str]) -> Place | None:
    """Return the place of a variable that is on no list."""
    query = named[1]
    contexts: list[dict[str, Json]] = []
    for path, entries in values_below(_at(policy, rule)):
        if path[-1:] == ("context",):
            contexts += (entry for entry in list_of(entries) if isinstance(entry, dict))
    names = {str(entry.get("name")) for entry in contexts if "name" in entry}
    root = re.split(r"[^\w-]", query.strip())[0]
    known_names = [*names, *(name.partition(".")[0] for name in _QUERY_NAMES)]
    whole = re.match(r"[\w.-]*", query)
    meant = nearest(whole[0] if whole else "", _QUERY_NAMES, 1) if "." in query else []
    hint = suggestion(root, known_names) or (f"did you mean '{meant[0]}'?" if meant else None)
    location = _text_place(policy, rule, lambda text: text.replace('"', "") == query)
    return None if location is None else (location, hint)


def _query(policy: Policy, rule: FieldPath, named: re.Match[str]) -> Place | None:
    """Return the place in a query that is not JMESPath."""
    from chartkit.engine.jmespath.advice import advice

    query = named[1].strip()
    offset, hint = 0, None
    try:
        compile_expression(query)
    except JMESPathError as error:
        hint = advice(str(error), query)
        if isinstance(error, ExpressionSyntaxError):
            offset = error.offset
    location = _text_place(policy, rule, lambda text: text == query, offset)
    return None if location is None else (location, hint)


def _operator(policy: Policy, rule: FieldPath, _named: re.Match[str]) -> Place | None:
    """Return the place of the first operator that there is not."""
    from chartkit.engine.cluster_policy.conditions.parse import OPERATORS

    for path, value in texts_below(_at(policy, rule), rule):
        if path[-1] == "operator" and value not in OPERATORS:
            return policy.resource.location.within(pointer_of(*path)), suggestion(value, OPERATORS)
    return None


_FINDERS: Final[dict[re.Pattern[str], Callable[..., Place | None]]] = {
    _NOT_ALLOWED: _variable,
    _NO_QUERY: _query,
    re.compile(re.escape(_OPERATOR)): _operator,
}


def _text_place(
    policy: Policy, rule: FieldPath, is_it: Callable[[str], bool], offset: int = 0
) -> Location | None:
    """Return the place of the first variable with a query, or of a character of it."""
    for path, text in texts_below(_at(policy, rule), rule):
        for variable in find_variables(text):
            if is_it(variable.query):
                begin = text.find(variable.query, variable.start)
                at = variable.start if begin < 0 else begin + offset
                return policy.resource.location.character(pointer_of(*path), at)
    return None


def _at(policy: Policy, path: FieldPath) -> Json:
    value: Json = policy.resource.body
    for step in path:
        value = value[step]
    return value


def unknown_functions(policy: Policy) -> Iterator[tuple[Location, str, str | None]]:
    """Yield the place and name of each JMESPath function that Kyverno does not have, with a hint.

    Kyverno accepts such a policy, and its rule fails when the call is reached.
    """
    for path, begin, name in _in_queries(policy, _CALL):
        from chartkit.engine.jmespath.functions import FUNCTIONS

        if name not in FUNCTIONS:
            location = policy.resource.location.character(pointer_of(*path), begin)
            yield location, name, suggestion(name, FUNCTIONS)


def misspelt_requests(policy: Policy) -> Iterator[tuple[Location, str, str]]:
    """Yield the place and name of each field of `request` that is nearly one that there is, with a
    hint; a field that there is not is null."""
    for path, begin, name in _in_queries(policy, _REQUEST_FIELD):
        if name not in _REQUEST_FIELDS and (hint := suggestion(name, _REQUEST_FIELDS)):
            location = policy.resource.location.character(pointer_of(*path), begin)
            yield location, name, hint


def _in_queries(policy: Policy, pattern: re.Pattern[str]) -> Iterator[tuple[FieldPath, int, str]]:
    """Yield the matches of a pattern's first group in the queries of a policy, with the path of the
    text and the offset in it."""
    for path, text in texts_below(policy.resource.body.get("spec"), ("spec",)):
        for name, begin in _named(text, path[-1] == "jmesPath", pattern):
            yield path, begin, name


@lru_cache(maxsize=32)
def _named(text: str, is_query: bool, pattern: re.Pattern[str]) -> Sequence[tuple[str, int]]:
    """The matches of a pattern's first group in a text's queries, with offsets."""
    if not is_query and "{{" not in text:
        return ()
    matches = []
    queries = (
        [(text, 0)] if is_query else [(part.query, part.start) for part in find_variables(text)]
    )
    for query, start in queries:
        begin = max(text.find(query, start), 0)
        for match in pattern.finditer(_LITERAL.sub(lambda literal: " " * len(literal[0]), query)):
            matches.append((match[1], begin + match.start(1)))
    return matches


_CALL: Final = re.compile(r"(?<!\w)([A-Za-z_]\w*)\(")
_REQUEST_FIELD: Final = re.compile(r"(?<![\w.])request\.([A-Za-z_]\w*)")
_REQUEST_FIELDS: Final = (
    *("uid", "kind", "resource", "subResource", "requestKind", "requestResource"),
    *("requestSubResource", "name", "namespace", "operation", "userInfo", "object", "oldObject"),
    *("dryRun", "options", "roles", "clusterRoles"),
)
"""The fields of an admission request, with those that Kyverno adds."""
_LITERAL: Final = re.compile(r"'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|\"(?:\\.|[^\"\\])*\"")
