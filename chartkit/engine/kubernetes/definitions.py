"""Faults that the custom resource definitions of Kyverno's kinds find in a document, by the
compact schemas from which the definitions are made (`chartkit.schemas`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from chartkit.documents.yaml_builder import MAX_DEPTH, depth
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Json, Location, Resource, Severity, pointer_of
from chartkit.schemas.compact import OPEN, Schema, flattened, type_library
from chartkit.suggestions import nearest, suggestion

Problem = tuple[tuple[str | int, ...], str]
"""The place (keys and indexes from the top) and the message, in the API server's words."""


class UnknownField(str):
    """The message about a field that is not known; known: the names of those that are."""

    __slots__ = ("known",)
    known: Iterable[str]


class Unsupported(str):
    """The message about a value that is not one of a few; known: those; value: the text."""

    __slots__ = ("known", "value")
    known: Iterable[str]
    value: str


REQUIRED: Final = "Required value"
ONE_OF: Final = "must have exactly one of "

Check = Callable[[Json, tuple[str | int, ...]], list[Problem]]


def anything(_value: Json, _path: tuple[str | int, ...]) -> list[Problem]:
    """Takes every value."""
    return []


def text(*, among: tuple[str, ...] = (), longest: int = 0) -> Check:
    """A string, perhaps one of a few, perhaps no longer than so many characters."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, str):
            return [_wrong_type(value, path, "string")]
        if among and value not in among:
            shown = ", ".join(f'"{one}"' for one in among)
            message = Unsupported(f'Unsupported value: "{value}": supported values: {shown}')
            message.known, message.value = among, value
            return [(path, message)]
        if longest and len(value) > longest:
            return [(path, f"Too long: may not be more than {longest} bytes")]
        return []

    return check


def boolean(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    """True or false."""
    return [] if isinstance(value, bool) else [_wrong_type(value, path, "boolean")]


def integer(*, least: int | None = None) -> Check:
    """A whole number, perhaps not under another."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, int) or isinstance(value, bool):
            return [_wrong_type(value, path, "integer")]
        if least is not None and value < least:
            return [(path, f"should be greater than or equal to {least}")]
        return []

    return check


def list_of(item: Check) -> Check:
    """A list whose items have one schema."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, list):
            return [_wrong_type(value, path, "array")]
        return [one for at, entry in enumerate(value) for one in item(entry, (*path, at))]

    return check


def map_of(item: Check) -> Check:
    """An object with any keys, whose values have one schema."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, dict):
            return [_wrong_type(value, path, "object")]
        return [one for key, entry in value.items() for one in item(entry, (*path, key))]

    return check


def struct(
    fields: Mapping[str, Check],
    *,
    required: tuple[str, ...] = (),
    exclusive: tuple[str, ...] = (),
    one_of: tuple[str, ...] = (),
    open_ended: bool = False,
) -> Check:
    """An object with these fields. exclusive: two that exclude each other; one_of: those of
    which exactly one is required; open_ended: fields that are not named are taken too."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, dict):
            return [_wrong_type(value, path, "object")]
        there = {key: entry for key, entry in value.items() if entry is not None}
        problems: list[Problem] = [
            ((*path, name), REQUIRED) for name in required if name not in there
        ]
        if exclusive and all(name in there for name in exclusive):
            problems.append((path, f"{' and '.join(exclusive)} may not stand together"))
        if one_of and sum(name in there for name in one_of) != 1:
            problems.append((path, f"{ONE_OF}{', '.join(one_of)}"))
        for key, entry in value.items():
            field = fields.get(key)
            if field is not None:
                problems += [] if entry is None else field(entry, (*path, key))
            elif not open_ended:
                message = UnknownField("value provided for unknown field")
                message.known = fields
                problems.append(((*path, key), message))
        return problems

    return check


def _wrong_type(value: Json, path: tuple[str | int, ...], wanted: str) -> Problem:
    return path, f'must be of type {wanted}: "{_TYPE_NAMES.get(value.__class__, "null")}"'


_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def show_path(path: tuple[str | int, ...]) -> str:
    """`spec.rules[0].match`."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")


_METADATA: Final = struct(
    {"annotations": map_of(text()), "labels": map_of(text())}, open_ended=True
)
_OBJECT: Final[dict[str, Check]] = {
    "apiVersion": text(),
    "kind": text(),
    "metadata": _METADATA,
    "status": anything,
}
"""The fields of every object; the status is written by Kyverno, and never read."""


@cache
def definition_check(kind: str) -> Check:
    """The check of a whole object by a type of `chartkit.schemas`, such as `PolicyV1`."""
    types = type_library()
    schema = flattened(types[kind], types)
    fields = {name: _check(field) for name, field in schema["properties"].items()}
    required = ("metadata", *schema.get("required", ()))
    return struct({**fields, **_OBJECT}, required=required)


@cache
def named_check(name: str, *, loaded: bool = False) -> Check:
    """The check of a part by the name of its type.

    loaded: as Kyverno loads it where its definition leaves it open: no value of an enumeration is
    refused, and no unknown field.
    """
    types = type_library()
    return _check(flattened(types[name], types), name, loaded)


def _check(schema: Schema, owner: str = "", loaded: bool = False) -> Check:
    if "$ref" in schema:
        # Made when an object has the field: most policies have few of those that there are.
        name = schema["$ref"]
        return lambda value, path: named_check(name, loaded=loaded)(value, path)
    kind = schema.get("type")
    if kind == "string":
        among = () if loaded else tuple(schema.get("enum", ()))
        return text(among=among, longest=schema.get("maxLength", 0))
    if kind == "integer":
        return integer(least=schema.get("minimum"))
    if kind == "array":
        return list_of(_check(schema["items"], loaded=loaded))
    if kind == "object":
        return _object(schema, owner, loaded)
    return boolean if kind == "boolean" else anything


def _object(schema: Schema, owner: str, loaded: bool) -> Check:
    if "additionalProperties" in schema:
        return map_of(_check(schema["additionalProperties"], loaded=loaded))
    properties: Schema = schema.get("properties", {})
    fields = {
        name: _LOADED.get((owner, name)) or _check(field, loaded=loaded)
        for name, field in properties.items()
    }
    return struct(
        fields,
        required=tuple(schema.get("required", ())),
        exclusive=tuple(schema.get("not", {}).get("required", ())),
        one_of=tuple(one["required"][0] for one in schema.get("oneOf", ())),
        open_ended=loaded or bool(schema.get(OPEN)),
    )


def _conditions(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    """An any/all block, or the flat list of conditions that Kyverno still takes."""
    if isinstance(value, list):
        return _list_of_loaded("Condition")(value, path)
    return named_check("AnyAllConditions", loaded=True)(value, path)


def _list_of_loaded(name: str) -> Check:
    return lambda value, path: list_of(named_check(name, loaded=True))(value, path)


_LOADED: Final[dict[tuple[str, str], Check]] = {
    ("Rule", "preconditions"): _conditions,
    ("Deny", "conditions"): _conditions,
    ("MutationTarget", "preconditions"): _conditions,
    ("ForEachValidation", "foreach"): _list_of_loaded("ForEachValidation"),
    ("ForEachMutation", "foreach"): _list_of_loaded("ForEachMutation"),
}
"""Fields, by type and name, that the definitions leave open but Kyverno loads no other types in."""


SCHEMA_RULE: Final = "policy-schema"
"""The id of diagnostics for what the custom resource definition refuses."""


def check_schema(schema: Check, resource: Resource) -> None:
    """Raises CompileError for a document that its custom resource definition does not take."""
    # What was read from a file cannot be so deep; a body made in memory can.
    if depth(resource.body) > MAX_DEPTH:
        text = f"is nested deeper than {MAX_DEPTH} levels"
        raise CompileError([_diagnostic((), text, resource.location)])
    problems = schema(resource.body, ())
    # Problems without the required fields that are missing because they are misspelt.
    meant = {
        (path[:-1], name)
        for path, text in problems
        if isinstance(text, UnknownField)
        for name in nearest(str(path[-1]), text.known, 1)
    }
    problems = [
        (path, text)
        for path, text in problems
        if not (path and text == REQUIRED and (path[:-1], path[-1]) in meant)
        and not (text.startswith(ONE_OF) and any(above == path for above, _ in meant))
    ]
    if problems:
        raise CompileError([_diagnostic(path, text, resource.location) for path, text in problems])


def check_served(resource: Resource, api_versions: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """Raises CompileError for a kind, or a version of it, that Kyverno 1.19 does not serve."""
    if resource.api_version in api_versions and resource.kind in kinds:
        return
    named = f"{resource.api_version or 'no apiVersion'}, {resource.kind or 'no kind'}"
    message = f"{named}: Kyverno does not serve it as a policy"
    hint = f"one of {', '.join(kinds)} in one of {', '.join(api_versions)}"
    field, known = ("apiVersion", api_versions) if resource.kind in kinds else ("kind", kinds)
    meant = suggestion(str(resource.body.get(field)), known)
    location = resource.location.within(f"/{field}")
    hint = f"{meant} {hint}" if meant else hint
    raise CompileError([Diagnostic(SCHEMA_RULE, Severity.ERROR, message, location, hint)])


def _diagnostic(path: tuple[str | int, ...], text: str, location: Location) -> Diagnostic:
    pointer = pointer_of(*path)
    message = f"{show_path(path) or 'policy'}: {text}"
    hint = suggestion(str(path[-1]), text.known) if isinstance(text, UnknownField) else None
    if isinstance(text, Unsupported):
        hint = suggestion(text.value, text.known)
    place = replace(location.within(pointer), path=pointer)
    return Diagnostic(SCHEMA_RULE, Severity.ERROR, message, place, hint)


WARNING_RULE: Final = "policy-warning"
"""The id of diagnostics for what Kyverno takes, but not as it is meant."""
MISSPELT_RULE: Final = "policy-misspelt"
"""The id of warnings about names of what there is not: kinds, resources, functions."""
POLICY_RULE: Final = "policy"
"""The id of diagnostics for what Kyverno's webhook refuses."""
CLEANUP_RULE: Final = "cleanup-policy"
"""The id of diagnostics for what Kyverno's webhook refuses in a cleanup policy."""
