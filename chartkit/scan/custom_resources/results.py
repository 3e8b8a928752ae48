"""The results of custom resources: a failure for each error that an API server would refuse an
object with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine import ENFORCE
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_custom, kind_of
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    Resource,
    RuleResult,
    RuleType,
    Severity,
    Status,
    pointer_of,
)
from chartkit.report import PolicyFacts
from chartkit.scan.custom_resources.definitions import KIND, CustomKind, Definitions
from chartkit.scan.custom_resources.definitions import RULE as DIAGNOSTIC
from chartkit.scan.custom_resources.members import member_problems, metadata_problems
from chartkit.scan.custom_resources.rules import has_rules, rule_problems
from chartkit.scan.custom_resources.schema import Schema
from chartkit.scan.custom_resources.storing import decoded
from chartkit.scan.custom_resources.validation import (
    Problem,
    Reason,
    TooMuchWork,
    field_name,
    value_problems,
)

SCHEMA_RULE: Final = "schema"
"""The rule of results about types, limits, required and unknown fields."""
VALIDATIONS_RULE: Final = "validations"
"""The rule of results about `x-kubernetes-validations`."""
MOST: Final = 100
"""The failures of one object that are listed."""
_NO_METADATA: Final = "has no metadata, as a program's own file, and is no object of an API server"
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


class CustomResources:
    """The custom kinds that a scan knows, and what an API server says about their objects."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.names = definitions.names

    def facts(self) -> Mapping[str, PolicyFacts]:
        """Return the facts of each definition for reports, by the ID of its results."""
        names = {kind.definition for kind in self.definitions.kinds.values()}
        return {f"{KIND}/{name}": _facts(name) for name in sorted(names)}

    def results(self, resource: Resource) -> list[RuleResult]:
        """Return the failures of an object, or one result that it passes; none for an object of
        another kind."""
        kind = kind_of(resource)
        known = self.definitions.kinds.get(kind)
        if known is None:
            # The failure of an object whose definition has no such version.
            others = self.definitions.versions(kind.group, kind.kind)
            if not others:
                return []
            known = self.definitions.kinds[GroupVersionKind(kind.group, others[0], kind.kind)]
            text = f'no matches for kind "{kind.kind}" in version "{kind.group}/{kind.version}"'
            return [_failure(known, SCHEMA_RULE, text, ("/apiVersion",))]
        if known.schema is None:
            return []
        if "metadata" not in resource.body:
            return [_result(known.definition, SCHEMA_RULE, Status.SKIP, _NO_METADATA, ())]
        failures: list[RuleResult] = []
        for rule, problem, fields in _problems(known, known.schema, resource.body):
            if len(failures) == MOST:
                text = f"more than {MOST} errors: the others are not listed"
                failures.append(_failure(known, rule, text, ()))
                break
            # A default is in no file: fields that are written come first.
            ordered = sorted(fields, key=lambda path: not _has(resource.body, path))
            pointers = tuple(dict.fromkeys(pointer_of(*path) for path in ordered))
            result = _failure(known, rule, problem.text, pointers)
            skipped = replace(result, status=Status.SKIP, fields=())
            failures.append(skipped if problem.text == _UNCHECKED else result)
        return failures or [_result(known.definition, SCHEMA_RULE, Status.PASS, "", ())]

    def undefined(self, found: Sequence[Resource]) -> Iterator[Diagnostic]:
        """Yield a note for each custom kind among objects that no definition is known of."""
        defined = {(each.group, each.kind) for each in self.definitions.kinds}
        seen: set[tuple[str, str]] = set()
        for resource in found:
            kind = kind_of(resource)
            name = (kind.group, kind.kind)
            if name in seen or name in defined or not is_custom(kind) or _is_kyverno(kind.group):
                continue
            seen.add(name)
            message = f"no definition of {kind.group}/{kind.kind}: its objects are not validated"
            location = resource.location.within("/kind")
            yield Diagnostic(DIAGNOSTIC, Severity.NOTE, message, location, "--crds PATH names it")


def _has(value: Json, path: FieldPath) -> bool:
    for step in path:
        if isinstance(value, dict):
            if str(step) not in value:
                return False
            value = value[str(step)]
        elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return False
    return True


def _is_kyverno(group: str) -> bool:
    return group == "kyverno.io" or group.endswith(".kyverno.io")


def _facts(name: str) -> PolicyFacts:
    return PolicyFacts(
        name=name,
        action=lambda _rule, _namespace: ENFORCE,
        source=KIND,
        title=f"Schema of {name}",
        description="An API server refuses objects that the schema of their definition does not "
        "take, and kubectl those with unknown fields.",
    )


def _result(
    definition: str, rule: str, status: Status, message: str, fields: tuple[str, ...]
) -> RuleResult:
    return RuleResult(
        definition, rule, RuleType.VALIDATION, status, message, kind=KIND, fields=fields
    )


def _failure(known: CustomKind, rule: str, message: str, fields: tuple[str, ...]) -> RuleResult:
    return _result(known.definition, rule, Status.FAIL, message, fields)


def _problems(
    known: CustomKind, schema: Schema, body: Body
) -> Iterator[tuple[str, Problem, tuple[FieldPath, ...]]]:
    """Yield the errors of an object, each with its rule and fields, in an API server's order."""
    stored, unknown = decoded(schema, body)
    for path in unknown:
        name = field_name(path)
        text = f'strict decoding error: unknown field "{name}"'
        yield SCHEMA_RULE, Problem(path, text, Reason.INVALID), (path,)
    if known.drops_status:
        stored.pop("status", None)
    try:
        values = value_problems(schema, stored)
    except TooMuchWork:
        text = "has more values than are looked at: it is not validated"
        yield SCHEMA_RULE, Problem((), text, Reason.INVALID), ((),)
        return
    problems = [*metadata_problems(stored), *values, *member_problems(schema, stored)]
    for problem in problems:
        yield SCHEMA_RULE, problem, (problem.path,)
    if not has_rules(schema):
        return
    if any(each.is_blocking for each in problems):
        yield VALIDATIONS_RULE, Problem((), _UNCHECKED, Reason.INVALID), ((),)
        return
    for problem, fields in rule_problems(schema, stored):
        yield VALIDATIONS_RULE, problem, fields
