"""Witnesses: small objects on which a policy does what its text does not say, by the engine.

A policy and its correction are asked about objects with the required fields of a kind and one field
more. The first object that only one of them accepts is the witness.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from chartkit.catalog.policy_lint.kind_types import (
    SCALARS,
    Types,
    element_types,
    field_types,
    kinds_selected,
    sample,
    types_of,
)
from chartkit.catalog.policy_lint.patterns import (
    PatternPart,
    Steps,
    field_text,
    patterns_of,
    values_of,
)
from chartkit.catalog.policy_lint.rule import Subject
from chartkit.engine import Request, RunnablePolicy, evaluate
from chartkit.engine.cluster_policy.compile import CompiledPolicy, compile_policy
from chartkit.engine.cluster_policy.policy import Rule
from chartkit.engine.kubernetes.field_faults import fields_of
from chartkit.engine.kubernetes.kinds import GroupVersionKind, in_namespace
from chartkit.errors import ChartkitError
from chartkit.model import Body, FieldPath, Json, Resource, Status, pointed_at, renamed, with_value
from chartkit.scan.api_defaults import as_stored

_MOST_TRIED: Final = 24
_MOST_SEARCHES: Final = 10
_MOST_RULES: Final = 50
"""The most rules of a policy with searches, the most searches, and the most objects that each
tries."""
_CANDIDATES: Final[dict[str, tuple[Json, ...]]] = {
    "bool": (True, False),
    "int": (1, 0, 100_000),
    "double": (1, 0),
    "string": ("example", "1", "true", ""),
    "quantity": ("1", "100Gi"),
    "int-or-string": (1, "100%"),
}
Try = tuple[Steps, Json]
"""A field of an object and its value."""


def with_key(subject: Subject, path: FieldPath, key: str) -> Body:
    """Return a policy with another name for the key at a path."""
    body, owner = subject.resource.body, path[:-1]
    mapping = pointed_at(body, map(str, owner))
    corrected: Body = with_value(body, owner, renamed(mapping, str(path[-1]), key))
    return corrected


def witness(
    subject: Subject, rule: Rule, corrected: Body, tries: Callable[[CompiledPolicy], Iterable[Try]]
) -> str:
    """Return the end of a message: an object that a rule judges otherwise than the corrected policy
    does, and what becomes of the object; empty where there is none, and after many searches. tries:
    fields of the object, with values, that may show it, by the corrected policy."""
    kinds, compiled = kinds_selected(rule.match.kinds), _searchable(subject, rule)
    if compiled is None or not kinds:
        return ""
    try:
        other = compile_policy(Resource(corrected))
    except ChartkitError:
        return ""
    for steps, value in islice(tries(other), _MOST_TRIED):
        judged = _object(kinds[0], steps, value)
        passes = _passes(compiled, rule, judged)
        if passes is None or _passes(other, rule, judged) in (passes, None):
            continue
        shown = f"{field_text(steps)}: {json.dumps(value)}" if steps else "no optional field"
        return f"; a {kinds[0].kind} with {shown} {'passes' if passes else 'is refused'}"
    return ""


def passing_without(subject: Subject, rule: Rule, steps: Steps) -> str:
    """Return the end of a message: that an object passes that has a field's parent and not the
    field, with the defaults of an API server; empty where none is found."""
    kinds, compiled = kinds_selected(rule.match.kinds), _searchable(subject, rule)
    if compiled is None or not kinds:
        return ""
    # An API server drops an empty map of quantities.
    is_map = steps[-2:-1] in (("limits",), ("requests",))
    beside: Body = {"cpu" if steps[-1] != "cpu" else "memory": "1"} if is_map else {}
    judged = as_stored(_object(kinds[0], steps[:-1], beside))
    pointer = ["0" if step == "[]" else step for step in steps]
    if pointed_at(judged.body, pointer) is not None:
        return ""
    if not _passes(compiled, rule, judged):
        return ""
    return f"; a {kinds[0].kind} with {field_text(steps[:-1])}: {json.dumps(beside)} passes"


def _searchable(subject: Subject, rule: Rule) -> RunnablePolicy | None:
    """The policy that may be asked about objects; None for others, and after many searches."""
    subject.searches.append(rule.name)
    compiled = subject.compiled
    if compiled is None or compiled.looks_around or len(subject.searches) > _MOST_SEARCHES:
        return None
    policy = subject.cluster_policy
    return compiled if policy is not None and len(policy.rules) <= _MOST_RULES else None


def pattern_tries(part: PatternPart, path: FieldPath) -> Callable[[CompiledPolicy], Iterator[Try]]:
    """Return the fields that a pattern names at and below a path, with values to try."""

    def tries(corrected: CompiledPolicy) -> Iterator[Try]:
        for pattern in patterns_of(corrected.policy):
            if pattern.path != part.path:
                continue
            for value in values_of(pattern):
                if value.path[: len(path)] == path and value.types <= SCALARS:
                    yield from field_tries(value.steps, value.types)
                    yield value.steps, value.value

    return tries


def field_tries(steps: Steps, types: Types) -> Iterator[Try]:
    """Yield a field with values of its types to try, or the fields of an object."""
    for name in sorted(types):
        yield from ((steps, candidate) for candidate in _CANDIDATES.get(name, ()))
        for key, field in fields_of(name).items():
            if field.type in _CANDIDATES:
                yield (*steps, key), _CANDIDATES[field.type][0]


def _object(kind: GroupVersionKind, steps: Sequence[str], value: Json) -> Resource:
    """Return a small object of a kind with a value at a field."""
    types = types_of([kind])
    body: Body = {"apiVersion": "/".join(filter(None, kind[:2])), "kind": kind.kind}
    body["metadata"] = {"name": "example"}
    if spec := field_types(types, "spec"):
        body["spec"] = sample(min(spec))
    return in_namespace(Resource(_placed(body, types, steps, value) if steps else body))


def _placed(current: Json, types: Types, steps: Sequence[str], value: Json) -> Json:
    """Return a value of some types with another value at a field below it."""
    if not steps or not types:
        return value
    step, *rest = steps
    if step == "[]":
        inner = element_types(types)
        first = current[0] if current else sample(min(inner, default=""))
        return [_placed(first, inner, rest, value)]
    owner = current if isinstance(current, dict) else sample(min(types))
    return {**owner, step: _placed(owner.get(step), field_types(types, step), rest, value)}


def _passes(compiled: RunnablePolicy, rule: Rule, judged: Resource) -> bool | None:
    """Report whether a rule accepts an object, or says nothing of it; None for an error."""
    results = evaluate([compiled], Request(judged))
    statuses = {result.status for result in results if result.rule == rule.name}
    return None if Status.ERROR in statuses else Status.FAIL not in statuses
