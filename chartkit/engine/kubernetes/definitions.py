"""Faults that the custom resource definitions of Kyverno's kinds find in a document, by the
compact schemas from which the definitions are made (`chartkit.schemas`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from chartkit.documents.yaml_builder import MAX_DEPTH, depth
from chartkit.errors import CompileError
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    Location,
    Resource,
    Severity,
    pointer_of,
)
from chartkit.schemas.compact import OPEN, Schema, flattened, type_library
from chartkit.suggestions import nearest, suggestion

Problem = tuple[FieldPath, str]
"""The place (keys and indexes from the top) and the message, in the API server's words."""


class UnknownField(str):
    """The message about an unknown field; known: the names of the known fields."""

    __slots__ = ("known",)
    known: Iterable[str]


class Unsupported(str):
    """The message about a value that is not one of a few; known: those; value: the text."""

    __slots__ = ("known", "value")
    known: Iterable[str]
    value: str


REQUIRED: Final = "Required value"
ONE_OF: Final = "must have exactly one of "

Check = Callable[[Json, FieldPath], Iterable[Problem]]

_TYPES: Final[dict[str, type[Any]]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_TYPE_NAMES: Final[dict[type[Any], str]] = {
    float: "number",
    **{kind: name for name, kind in _TYPES.items()},
}


def find_problems(
    schema: Schema, value: Json, path: FieldPath = (), *, loaded: bool = False
) -> Iterator[Problem]:
    """Yield the problems of a value that is at a path.

    loaded: as Kyverno loads it where its definition leaves it open: no value of an enumeration is
    refused, and no unknown field.
    """
    owner = schema.get("$ref", "")
    schema = _type(owner) if owner else schema
    kind = schema.get("type", "")
    wanted = _TYPES.get(kind)
    if wanted is None:
        return
    if not isinstance(value, wanted) or (kind == "integer" and isinstance(value, bool)):
        type_name = _TYPE_NAMES.get(value.__class__, "null")
        yield path, f'must be of type {kind}: "{type_name}"'
    elif kind == "string":
        among = () if loaded else tuple(schema.get("enum", ()))
        longest = schema.get("maxLength", 0)
        if among and value not in among:
            shown = ", ".join(f'"{text}"' for text in among)
            message = Unsupported(f'Unsupported value: "{value}": supported values: {shown}')
            message.known, message.value = among, value
            yield path, message
        elif longest and len(value) > longest:
            yield path, f"Too long: may not be more than {longest} bytes"
    elif kind == "integer" and value < schema.get("minimum", value):
        yield path, f"should be greater than or equal to {schema['minimum']}"
    elif kind == "array":
        for at, entry in enumerate(value):
            yield from find_problems(schema["items"], entry, (*path, at), loaded=loaded)
    elif "additionalProperties" in schema:
        for key, entry in value.items():
            inner = schema["additionalProperties"]
            yield from find_problems(inner, entry, (*path, key), loaded=loaded)
    elif kind == "object":
        yield from _object_problems(schema, value, path, loaded, owner)


@cache
def _type(name: str) -> Schema:
    types = type_library()
    return flattened(types[name], types)


def _object_problems(
    schema: Schema, value: Body, path: FieldPath, loaded: bool, owner: str
) -> Iterator[Problem]:
    fields: Schema = schema.get("properties", {})
    there = {key for key, entry in value.items() if entry is not None}
    yield from (
        ((*path, name), REQUIRED) for name in schema.get("required", ()) if name not in there
    )
    exclusive = schema.get("not", {}).get("required", ())
    if exclusive and there.issuperset(exclusive):
        yield path, f"{' and '.join(exclusive)} may not stand together"
    one_of = [option["required"][0] for option in schema.get("oneOf", ())]
    if one_of and len(there.intersection(one_of)) != 1:
        yield path, f"{ONE_OF}{', '.join(one_of)}"
    for key, entry in value.items():
        named = _LOADED.get((owner, key))
        if key not in fields:
            if not (loaded or schema.get(OPEN)):
                message = UnknownField("value provided for unknown field")
                message.known = fields
                yield (*path, key), message
        elif entry is not None and named is None:
            yield from find_problems(fields[key], entry, (*path, key), loaded=loaded)
        elif entry is not None:
            # Kyverno still takes the flat list of conditions.
            is_block = named == _CONDITION and not isinstance(entry, list)
            loose = (
                {"$ref": "AnyAllConditions"}
                if is_block
                else {"type": "array", "items": {"$ref": named}}
            )
            yield from find_problems(loose, entry, (*path, key), loaded=True)


_CONDITION: Final = "Condition"
_LOADED: Final = {
    ("Rule", "preconditions"): _CONDITION,
    ("Deny", "conditions"): _CONDITION,
    ("MutationTarget", "preconditions"): _CONDITION,
    ("ForEachValidation", "foreach"): "ForEachValidation",
    ("ForEachMutation", "foreach"): "ForEachMutation",
}
"""Fields, by type and name, that the definitions leave open but Kyverno loads no other types in:
lists of these."""


def show_path(path: FieldPath) -> str:
    """`spec.rules[0].match`."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")


_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "object", "additionalProperties": _TEXT}
_ANY: Final[Schema] = {}
_METADATA: Final[Schema] = {
    **dict.fromkeys(("name", "generateName", "namespace"), _TEXT),
    **dict.fromkeys(("annotations", "labels"), _TEXTS),
    **dict.fromkeys(("finalizers", "ownerReferences", "managedFields", "generation", "uid"), _ANY),
    **dict.fromkeys(("resourceVersion", "creationTimestamp", "deletionTimestamp"), _ANY),
    **dict.fromkeys(("selfLink", "deletionGracePeriodSeconds"), _ANY),
}
_OBJECT: Final[Schema] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": {"type": "object", "properties": _METADATA},
    "status": {},
}
"""The fields of every object; the status is written by Kyverno, and never read."""


@cache
def definition_check(kind: str) -> Check:
    """The check of a whole object by a type of `chartkit.schemas`, such as `PolicyV1`."""
    schema = _type(kind)
    properties = {**schema["properties"], **_OBJECT}
    required = ("metadata", *schema.get("required", ()))
    return partial(find_problems, {**schema, "properties": properties, "required": required})


_SHORT_NAME: Final = re.compile("[a-z0-9]+(-[a-z0-9]+){0,4}").fullmatch
SCHEMA_RULE: Final = "policy-schema"
"""The id of diagnostics for what the custom resource definition refuses."""


def check_schema(schema: Check, resource: Resource) -> None:
    """Raises CompileError for a document that its custom resource definition does not take."""
    # What was read from a file cannot be so deep; a body made in memory can.
    if depth(resource.body) > MAX_DEPTH:
        text = f"is nested deeper than {MAX_DEPTH} levels"
        raise CompileError([_diagnostic((), text, resource.location)])
    problems = list(schema(resource.body, ()))
    if not problems:
        if len(resource.body["metadata"]) == 1 and _SHORT_NAME(resource.name):
            return
        from chartkit.engine.kubernetes.metadata import metadata_problems

        problems = list(metadata_problems(resource.body["metadata"]))
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
    field, values = ("apiVersion", api_versions) if resource.kind in kinds else ("kind", kinds)
    meant = suggestion(str(resource.body.get(field)), values)
    location = resource.location.within(f"/{field}")
    hint = f"{meant} {hint}" if meant else hint
    raise CompileError([Diagnostic(SCHEMA_RULE, Severity.ERROR, message, location, hint)])


def _diagnostic(path: FieldPath, text: str, location: Location) -> Diagnostic:
    pointer = pointer_of(*path)
    message = f"{show_path(path) or 'policy'}: {text}"
    hint = suggestion(str(path[-1]), text.known) if isinstance(text, UnknownField) else None
    if isinstance(text, Unsupported):
        hint = suggestion(text.value, text.known)
    pointed = replace(location.within(pointer), path=pointer)
    return Diagnostic(SCHEMA_RULE, Severity.ERROR, message, pointed, hint)


WARNING_RULE: Final = "policy-warning"
"""The id of diagnostics for what Kyverno takes, but not as it is meant."""
MISSPELT_RULE: Final = "policy-misspelt"
"""The id of warnings about names of what there is not: kinds, resources, functions."""
POLICY_RULE: Final = "policy"
"""The id of diagnostics for what Kyverno's webhook refuses."""
CLEANUP_RULE: Final = "cleanup-policy"
"""The id of diagnostics for what Kyverno's webhook refuses in a cleanup policy."""
