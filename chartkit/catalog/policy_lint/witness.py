"""Witnesses: small objects on which a policy does what its text does not say, by the engine.

A policy and its correction are asked about objects with the required fields of a kind and one field
more. The first object that only one of them accepts is the witness.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
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
from chartkit.catalog.policy_lint.patterns import PatternPart, patterns_of
from chartkit.catalog.policy_lint.rule import Subject
from chartkit.catalog.policy_lint.shapes import values_of
from chartkit.engine import Request, RunnablePolicy, evaluate
from chartkit.engine.cluster_policy.compile import CompiledPolicy, compile_policy
from chartkit.engine.kubernetes.kinds import GroupVersionKind, in_namespace
from chartkit.errors import ChartkitError
from chartkit.model import Body, FieldPath, Json, Resource, Status

_MOST_TRIED: Final = 24
_CANDIDATES: Final[dict[str, tuple[Json, ...]]] = {
    "bool": (True, False),
    "int": (1, 0, 100_000),
    "double": (1, 0),
    "string": ("example", "1", "true", ""),
    "quantity": ("1", "100Gi"),
    "int-or-string": (1, "100%"),
}
Fields = tuple[str, ...]
"""The names of fields from the object down; `[]` for the only element of a list."""


def with_key(body: Body, path: FieldPath, key: str) -> Body:
    """Return a copy of a document in which the last key of a path is another one."""
    copy = deepcopy(body)
    owner: Json = copy
    for step in path[:-1]:
        owner = owner[step]
    members = [(key if name == path[-1] else name, value) for name, value in owner.items()]
    owner.clear()
    owner.update(members)
    return copy


def witness(subject: Subject, part: PatternPart, path: FieldPath, key: str) -> str:
    """Return the end of a message: an object that shows that the key at the end of a path in a
    pattern should be another one, and what becomes of the object; empty where none is found."""
    if subject.compiled is None or subject.compiled.looks_around:
        return ""
    corrected = _compiled(with_key(subject.resource.body, path, key))
    kinds = kinds_selected(part.kinds)
    if corrected is None or not kinds:
        return ""
    here = (*path[:-1], key)
    for steps, value in islice(_changes(corrected, part, here), _MOST_TRIED):
        judged = _object(kinds[0], steps, value)
        passes = _passes(subject.compiled, part, judged)
        if passes is None or _passes(corrected, part, judged) in (passes, None):
            continue
        field = ".".join(steps).replace(".[]", "[]")
        effect = "passes" if passes else "is refused"
        return f"; a {kinds[0].kind} with {field}: {json.dumps(value)} {effect}"
    return ""


def _compiled(body: Body) -> CompiledPolicy | None:
    try:
        return compile_policy(Resource(body))
    except ChartkitError:
        return None


def _changes(
    corrected: CompiledPolicy, part: PatternPart, here: FieldPath
) -> Iterator[tuple[Fields, Json]]:
    """Yield fields that the corrected pattern names at and below a key, with values to try."""
    for pattern in patterns_of(corrected.policy):
        if pattern.path != part.path:
            continue
        for value in values_of(pattern):
            if value.path[: len(here)] != here or not value.types <= SCALARS:
                continue
            for name in sorted(value.types):
                yield from ((value.steps, candidate) for candidate in _CANDIDATES[name])
            yield value.steps, value.value


def _object(kind: GroupVersionKind, steps: Sequence[str], value: Json) -> Resource:
    """Return a small object of a kind with a value at a field."""
    types = types_of([kind])
    body: Body = {"apiVersion": "/".join(filter(None, kind[:2])), "kind": kind.kind}
    body["metadata"] = {"name": "example"}
    if spec := field_types(types, "spec"):
        body["spec"] = sample(min(spec))
    return in_namespace(Resource(_placed(body, types, steps, value)))


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


def _passes(compiled: RunnablePolicy, part: PatternPart, judged: Resource) -> bool | None:
    """Return whether a rule accepts an object, or says nothing of it; None for an error."""
    results = evaluate([compiled], Request(judged))
    found = {result.status for result in results if result.rule == part.rule.name}
    return None if Status.ERROR in found else Status.FAIL not in found
