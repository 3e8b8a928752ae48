"""The results of custom resources: a failure for each error that an API server would refuse an
object with.

What lists and embedded resources must have is checked here (source:
k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{listtype,objectmeta}), values in `validation`,
rules in CEL in `rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine import ENFORCE
from chartkit.engine.cel.library.kubernetes.naming import label_1035, subdomain
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_custom, kind_of
from chartkit.go.fmt import go_json
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
    pointed_at,
    pointer_of,
    text_of,
)
from chartkit.report import PolicyFacts
from chartkit.scan.custom_resources.definitions import KIND, CustomKind, Definitions
from chartkit.scan.custom_resources.definitions import RULE as DIAGNOSTIC
from chartkit.scan.custom_resources.rules import has_rules, rule_problems
from chartkit.scan.custom_resources.schema import Schema, decoded, member
from chartkit.scan.custom_resources.validation import (
    Problem,
    Reason,
    TooMuchWork,
    field_name,
    problem,
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
_ABSENT: Final = object()


class CustomResources:
    """The custom kinds that a scan knows, and what an API server says about their objects."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.names = definitions.names

    def facts(self) -> Mapping[str, PolicyFacts]:
        """Return the facts of each definition for reports, by the ID of its results."""
        names = {kind.definition for kind in self.definitions.kinds.values()}
        return {
            f"{KIND}/{name}": PolicyFacts(
                name=name,
                action=lambda _rule, _namespace: ENFORCE,
                source=KIND,
                title=f"Schema of {name}",
                description="An API server refuses objects that the schema of their definition "
                "does not take, and kubectl those with unknown fields.",
            )
            for name in sorted(names)
        }

    def results(self, resource: Resource) -> list[RuleResult]:
        """Return the failures of an object, or one pass; nothing for an object of another kind."""
        kind = kind_of(resource)
        custom = self.definitions.kinds.get(kind)
        if custom is None:
            # The failure of an object whose definition has no such version.
            others = self.definitions.versions(kind.group, kind.kind)
            if not others:
                return []
            custom = self.definitions.kinds[GroupVersionKind(kind.group, others[0], kind.kind)]
            text = f'no matches for kind "{kind.kind}" in version "{kind.group}/{kind.version}"'
            return [_failure(custom, SCHEMA_RULE, text, ("/apiVersion",))]
        if custom.schema is None:
            return []
        if "metadata" not in resource.body:
            return [_result(custom.definition, SCHEMA_RULE, Status.SKIP, _NO_METADATA, ())]
        failures: list[RuleResult] = []
        for rule, fault, fields in _problems(custom, custom.schema, resource.body):
            if len(failures) == MOST:
                text = f"more than {MOST} errors: the others are not listed"
                failures.append(_failure(custom, rule, text, ()))
                break
            # A default is in no file: fields that are written come first.
            ordered = sorted(fields, key=lambda path: not _has(resource.body, path))
            pointers = tuple(dict.fromkeys(pointer_of(*path) for path in ordered))
            result = _failure(custom, rule, fault.text, pointers)
            skipped = replace(result, status=Status.SKIP, fields=())
            failures.append(skipped if fault.text == _UNCHECKED else result)
        return failures or [_result(custom.definition, SCHEMA_RULE, Status.PASS, "", ())]

    def undefined(self, resources: Sequence[Resource]) -> Iterator[Diagnostic]:
        """Yield a note for each custom kind among objects that no definition is known of."""
        defined = {(definition.group, definition.kind) for definition in self.definitions.kinds}
        seen: set[tuple[str, str]] = set()
        for resource in resources:
            kind = kind_of(resource)
            name = (kind.group, kind.kind)
            is_kyverno = f".{kind.group}".endswith(".kyverno.io")
            if name in seen or name in defined or not is_custom(kind) or is_kyverno:
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


def _result(
    definition: str, rule: str, status: Status, message: str, fields: tuple[str, ...]
) -> RuleResult:
    return RuleResult(
        definition, rule, RuleType.VALIDATION, status, message, kind=KIND, fields=fields
    )


def _failure(custom: CustomKind, rule: str, message: str, fields: tuple[str, ...]) -> RuleResult:
    return _result(custom.definition, rule, Status.FAIL, message, fields)


def _problems(
    custom: CustomKind, schema: Schema, body: Body
) -> Iterator[tuple[str, Problem, tuple[FieldPath, ...]]]:
    """Yield the errors of an object, each with its rule and fields, in an API server's order."""
    stored, unknown = decoded(schema, body)
    for path in unknown:
        name = field_name(path)
        text = f'strict decoding error: unknown field "{name}"'
        yield SCHEMA_RULE, Problem(path, text, Reason.INVALID), (path,)
    if custom.drops_status:
        stored.pop("status", None)
    try:
        values = value_problems(schema, stored)
    except TooMuchWork:
        text = "has more values than are looked at: it is not validated"
        yield SCHEMA_RULE, Problem((), text, Reason.INVALID), ((),)
        return
    # Those of embedded resources, and of lists that are sets or maps, come last.
    members = _members(schema, stored, (), frozenset(), is_root=True)
    problems = [*metadata_problems(stored), *values, *members]
    for fault in problems:
        # The value of a variable of Flux is unknown.
        if "${" not in text_of(pointed_at(stored, map(str, fault.path))):
            yield SCHEMA_RULE, fault, (fault.path,)
    if not has_rules(schema):
        return
    if any(fault.is_blocking for fault in problems):
        yield VALIDATIONS_RULE, Problem((), _UNCHECKED, Reason.INVALID), ((),)
        return
    for fault, fields in rule_problems(schema, stored):
        yield VALIDATIONS_RULE, fault, fields


def metadata_problems(body: Body) -> Iterator[Problem]:
    """Yield the errors of an object's name."""
    metadata = body.get("metadata")
    path: FieldPath = ("metadata", "name")
    if not isinstance(metadata, dict):
        return
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not name and not prefix:
        detail = "name or generateName is required"
        yield problem(path, field_name(path), Reason.REQUIRED, detail)
    elif isinstance(name, str) and name:
        for fault in subdomain(name):
            yield problem(path, field_name(path), Reason.INVALID, fault, name)


def _members(
    schema: Schema | None, value: Json, path: FieldPath, keys: frozenset[int], is_root: bool = False
) -> Iterator[Problem]:
    if schema is None:
        return
    if isinstance(value, dict):
        if schema.embeds and not is_root:
            for key in ("apiVersion", "kind"):
                field = (*path, key)
                name = field_name(field, keys)
                given = value.get(key, _ABSENT)
                if given is _ABSENT:
                    yield problem(field, name, Reason.REQUIRED)
                elif not isinstance(given, str):
                    yield problem(field, name, Reason.INVALID, "must be a string", given)
                elif not given:
                    yield problem(field, name, Reason.INVALID, "must not be empty", given)
                elif key == "kind" and (faults := label_1035(given.lower())):
                    detail = f"may have mixed case, but should otherwise match: {','.join(faults)}"
                    yield problem(field, name, Reason.INVALID, detail, given)
                elif key == "apiVersion" and given.count("/") > 1:
                    detail = f"unexpected GroupVersion string: {given}"
                    yield problem(field, name, Reason.INVALID, detail, given)
        for key, below in value.items():
            is_key = key not in schema.properties
            keys_here = keys | {len(path)} if is_key else keys
            yield from _members(member(schema, key), below, (*path, key), keys_here)
    elif isinstance(value, list):
        yield from _repeated(schema, value, path, keys)
        for at, below in enumerate(value):
            yield from _members(schema.items, below, (*path, at), keys)


def _repeated(
    schema: Schema, values: list[Json], path: FieldPath, keys: frozenset[int]
) -> Iterator[Problem]:
    if schema.list_type == "map":
        for at, value in enumerate(values):
            if value is not None and not isinstance(value, dict):
                here = (*path, at)
                detail = "must be an object for an array of list-type map"
                yield problem(here, field_name(here, keys), Reason.INVALID, detail, value)
                return
        compared = [_key(schema.list_keys, value or {}) for value in values]
    elif schema.list_type == "set":
        compared = values
    else:
        return
    seen: dict[str, int] = {}
    for at, value in enumerate(compared):
        text = go_json(value) if not isinstance(value, bool) else str(value)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            here = (*path, at)
            name = field_name(here, keys)
            yield problem(here, name, Reason.DUPLICATE, "", compared[at])


def _key(names: Sequence[str], body: Body) -> Body:
    return {name: body[name] for name in names if name in body}
