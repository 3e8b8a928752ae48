"""Mutation testing of a policy's examples: which changes of the policy they do not show.

A change survives if every example has the same result with and without it.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.addons.mutation.mutants import LITERAL, Change, changes
from chartkit.catalog.authoring.check import EQUAL_FILE, SURVIVOR, MutationResult
from chartkit.documents.reader import Source, read_file, read_text, resources
from chartkit.engine import NO_ATTACHMENTS, Cleaner, Operation, RunnablePolicy, World, sorted_out
from chartkit.errors import ChartkitError, CompileError, InputError
from chartkit.library.parameters import filled
from chartkit.library.policies import Examples, FolderPolicy, Parameter, read_policy
from chartkit.library.templating import outline_of, placed
from chartkit.model import (
    WITHOUT,
    Body,
    Diagnostic,
    Json,
    Resource,
    Severity,
    mapping_at,
    path_text,
    pointed_at,
    pointer_of,
    values_below,
    with_value,
)
from chartkit.scan.policies import compile_one
from chartkit.scan.verdicts import example_world, judge
from chartkit.wording import shortened

_SECONDS: Final = 60.0
"""The processor time for a form of a policy."""
_CANDIDATES: Final = 300
"""The most objects that are tried to show a survivor, for each example."""
_SHOWN: Final = 60
"""The most characters of a value in what is said of such an object."""

_Effect = tuple[bool, bool, Json, Json, Json]
_Compiled = tuple[tuple[RunnablePolicy, ...], tuple[Cleaner, ...]]
_Key = tuple[int, str, str, int]
"""A change: the number of the policy in its form, the part, the text, and the number of the change
among those of this text. Paths differ where parameters leave rules out."""


@dataclass(frozen=True, slots=True)
class _Case:
    """The policies of a form at an example's parameters, its objects, and the effects on them."""

    bodies: tuple[Body, ...]
    compiled: _Compiled
    objects: tuple[tuple[Resource, World], ...]
    changes: Mapping[_Key, Change]
    effects: dict[int, _Effect] = field(default_factory=dict)

    def effect(self, resource: Resource, world: World) -> _Effect:
        """Return the effect of the unchanged policies, computed once for each object."""
        key = id(resource)
        if key not in self.effects:
            self.effects[key] = _effect(self.compiled, resource, world)
        return self.effects[key]

    def changed(self, key: _Key) -> _Compiled | None:
        """Return the policies with a change, compiled; None where Kyverno refuses them."""
        bodies = list(self.bodies)
        bodies[key[0]] = self.changes[key].applied(bodies[key[0]])
        try:
            return _compiled(bodies)
        except CompileError:
            return None


def mutate_policy(folder: Path, shared: Mapping[str, Parameter]) -> MutationResult:
    """Test each change of a policy by its examples; shared: its library's shared parameters. A
    policy that cannot be read or rendered has no changes: `check` says what is wrong with it."""
    try:
        policy = read_policy(folder, "", shared)
        # The forms and changes that `mutants.yaml` names.
        file = folder / EQUAL_FILE
        pairs: set[tuple[str, str]] = set()
        for document in read_file(file) if file.is_file() else ():
            if not isinstance(document.body, list):
                raise InputError("must be a list", document.location)
            for index, item in enumerate(document.body):
                values = mapping_at({"item": item}, "item")
                texts = [values.get(key) for key in ("form", "change", "reason")]
                if not all(isinstance(text, str) and text for text in texts):
                    message = "needs form, change and reason, each a text"
                    raise InputError(message, document.locate(index))
                pairs.add((str(texts[0]), str(texts[1])))
        equal = frozenset(pairs)
    except InputError as error:
        problem = Diagnostic(SURVIVOR, Severity.ERROR, error.message, error.location, error.hint)
        return MutationResult(survivors=(problem,))
    result = MutationResult()
    for source in filter(None, (policy.template, policy.cel)):
        try:
            cases = [_case(policy, source, example) for example in policy.examples]
        except ChartkitError:
            continue
        result += _mutated(cases, source, equal)
    return result


def _mutated(
    cases: Sequence[_Case], source: Source, equal: Collection[tuple[str, str]]
) -> MutationResult:
    end = time.process_time() + _SECONDS
    killed = explained = untried = 0
    survivors: list[Diagnostic] = []
    given = {id(resource): (resource, world) for case in cases for resource, world in case.objects}
    bodies = [resource.body for resource, _ in given.values()]
    candidates = [
        (
            f"{resource.location}, {resource.kind} {resource.name}, {said}",
            Resource(body, resource.location),
            world,
        )
        for resource, world in given.values()
        for said, body in _neighbours(
            resource.body, [other for other in bodies if other.get("kind") == resource.kind]
        )
    ]
    random.Random(0).shuffle(candidates)
    candidates = candidates[:_CANDIDATES]
    for key in dict.fromkeys(key for case in cases for key in case.changes):
        if time.process_time() > end:
            untried += 1
            continue
        with_change = [case for case in cases if key in case.changes]
        mutants = [(case, case.changed(key)) for case in with_change]
        if any(mutant is None or _differs(case, mutant, case.objects) for case, mutant in mutants):
            killed += 1
            continue
        change = with_change[0].changes[key]
        if (Path(source.file).name, change.text) in equal:
            explained += 1
            continue
        witness = next(
            (
                said
                for case, mutant in mutants
                if mutant is not None
                for said, resource, world in candidates
                if _differs(case, mutant, [(resource, world)])
            ),
            "",
        )
        location = placed(with_change[0].bodies[key[0]], source).location
        survivors.append(
            Diagnostic(
                SURVIVOR,
                Severity.WARNING,
                f"no example shows {path_text(change.path)}: {change.text}",
                location.within(pointer_of(*change.path)),
                f"an object that would: {witness}" if witness else None,
            )
        )
    return MutationResult(killed, explained, untried, tuple(survivors))


def _differs(case: _Case, mutant: _Compiled, objects: Iterable[tuple[Resource, World]]) -> bool:
    return any(
        _effect(mutant, resource, world) != case.effect(resource, world)
        for resource, world in objects
    )


def _effect(compiled: _Compiled, resource: Resource, world: World) -> _Effect:
    verdict = judge(*compiled, resource, world)
    others = [
        judge(*compiled, resource, world, operation).acts
        for operation in (Operation.UPDATE, Operation.DELETE)
        if not compiled[1]
    ]
    return verdict.acts, bool(verdict.error), others, verdict.changed, list(verdict.generated)


def _compiled(bodies: Iterable[Body]) -> _Compiled:
    return sorted_out(compile_one(Resource(body), NO_ATTACHMENTS) for body in bodies)


def _case(policy: FolderPolicy, source: Source, example: Examples) -> _Case:
    text = filled(policy, source, {**policy.defaults, **example.parameters})
    bodies = tuple(resource.body for resource in resources(read_text(text, source.file)))
    objects = tuple(
        (resource, example_world(resource, wants_fields=False))
        for file in (example.good, example.bad)
        if file is not None
        for resource in resources(read_file(file))
    )
    by_key: dict[_Key, Change] = {}
    for index, body in enumerate(bodies):
        numbers: Counter[tuple[str, str]] = Counter()
        for change in changes(body):
            is_subresource = change.path[-1] == "resources" and "/" in change.text
            if change.part == "action" or change.path[-1] == "operations" or is_subresource:
                is_written = False
            else:
                outline = outline_of(source)
                if outline is None:
                    is_written = True
                else:
                    steps = [str(step) for step in change.path]
                    written, rendered = pointed_at(outline.body, steps), pointed_at(body, steps)
                    if isinstance(rendered, list):
                        is_written = isinstance(written, list)
                    else:
                        is_written = change.part not in (LITERAL, "element") or written == rendered
            if is_written:
                by_key[index, change.part, change.text, numbers[change.part, change.text]] = change
                numbers[change.part, change.text] += 1
    return _Case(bodies, _compiled(bodies), objects, by_key)


def _neighbours(body: Body, others: Sequence[Body]) -> Iterator[tuple[str, Body]]:
    for path, value in values_below(body):
        if path in ((), ("apiVersion",), ("kind",), ("metadata",)):
            continue
        name = path_text(path)
        yield f"without {name}", with_value(body, path, WITHOUT)
        steps = [str(step) for step in path]
        for new in [*_alternatives(value), *(pointed_at(other, steps) for other in others)]:
            if new is not None and new != value:
                said = shortened(json.dumps(new, ensure_ascii=False), _SHOWN)
                yield f"with {name}: {said}", with_value(body, path, new)


def _alternatives(value: Json) -> Iterator[Json]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, 0)
    elif isinstance(value, str):
        yield from (f"{value}x", "x", "")
    elif isinstance(value, list):
        yield []
        yield [*value, *value[:1]]
    elif isinstance(value, dict):
        yield {}
