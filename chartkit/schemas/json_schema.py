"""JSON Schemas of chartkit's own files, and their violations in words, each with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Json, Location, Severity, pointer_steps
from chartkit.suggestions import suggestion

RULE_ID = "CK001"
_FEW = 3
"""The places of a key that a hint names."""
_FOLDER = Path(__file__).parent / "files"
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}
_Finding = tuple[list[str | int], str, str | None]


@cache
def load(name: str) -> Body:
    """One of the schemas that ship with chartkit, by file name."""
    schema: Body = json.loads((_FOLDER / name).read_text("utf-8"))
    return schema


class LocatedValue(Protocol):
    """A value to check, and the place of each part of it. A `Document` is one."""

    @property
    def body(self) -> Any:
        """The value."""

    def locate(self, *path: str | int) -> Location:
        """The place of what is at a path, or of as much of the path as there is."""


def violations(
    document: LocatedValue,
    schema: Mapping[str, Any],
    body: Json = None,
    ignore: frozenset[str] = frozenset(),
    most: int | None = None,
) -> list[Diagnostic]:
    """Everything in a document that its schema refuses, in the document's order.

    body: what to check in place of the document's own; ignore: keywords of JSON Schema whose
    violations do not count; most: how many to look for, all if None. Raises InputError for a
    schema that refers to what is not there.
    """
    from referencing.exceptions import Unresolvable

    checked = document.body if body is None else body
    validator = _validator(schema)
    try:
        findings = (
            Diagnostic(RULE_ID, Severity.ERROR, message, document.locate(*path), hint)
            for error in validator.iter_errors(checked)
            if error.validator not in ignore
            for path, message, hint in _findings(error)
        )
        diagnostics = list(islice(findings, most))
    except Unresolvable as error:
        text = f"the schema refers to what is not in it: {error.ref}"
        raise InputError(text, document.locate()) from None
    except RecursionError:
        raise InputError("the schema refers to itself to no end", document.locate()) from None
    return sorted(diagnostics, key=_position)


def fits(value: Json, schema: Mapping[str, Any]) -> bool:
    """Report whether a value fits a schema."""
    return bool(_validator(schema).is_valid(value))


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from referencing.jsonschema import EMPTY_REGISTRY

    # Without a registry jsonschema asks the network for what a schema refers to.
    return Draft202012Validator(dict(schema), registry=EMPTY_REGISTRY)


def require_schema(document: Document) -> Body:
    """Return the JSON Schema that a document is; raises InputError for an invalid one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    hint = "`helm lint` refuses it, too"
    if not isinstance(document.body, dict):
        raise InputError("is not a JSON Schema: it must be an object", document.location, hint)
    try:
        Draft202012Validator.check_schema(document.body)
    except SchemaError as error:
        location = document.locate(*error.absolute_path)
        raise InputError(f"is not a JSON Schema: {error.message}", location, hint) from None
    body: Body = document.body
    return body


def require(document: LocatedValue, schema: Mapping[str, Any]) -> None:
    """Raises InputError for the first violation of a schema; the hint counts the others."""
    diagnostics = violations(document, schema)
    if not diagnostics:
        return
    first = diagnostics[0]
    hint = first.hint or ""
    if len(diagnostics) > 1:
        hint = f"{hint}; " if hint else ""
        hint += f"and {len(diagnostics) - 1} more in this file"
    raise InputError(first.message, first.location, hint or None)


def require_single_keys(document: Document) -> None:
    """Raises InputError where a mapping has a key twice: YAML's readers drop the first one."""
    location = document.repeated_key()
    if location is not None:
        name = pointer_steps(location.path)[-1]
        hint = "what stands below the first one would be lost: put both together"
        raise InputError(f"the key '{name}' stands here a second time", location, hint)


def require_no_object(document: Document) -> None:
    """Raises InputError for a Kubernetes object in the place of a chart's values."""
    body = document.body
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        return
    kind = body.get("kind")
    if isinstance(kind, str) and isinstance(body.get("apiVersion"), str):
        hint = "put what stands below its values, or valuesObject, into a file of its own"
        raise InputError(f"is an object of kind {kind}, and not values", document.location, hint)


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    location = diagnostic.location or Location("")
    return location.line, location.column


def _findings(error: Any) -> Iterator[_Finding]:
    path = list(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        hint = "use lower-case letters, digits and '-', as in a Kubernetes name"
        yield [*path, error.instance], f"'{error.instance}' cannot be a name here", hint
    elif error.validator == "additionalProperties":
        keys = error.schema.get("properties", {})
        for key in _unknown(error):
            # The hint for a path that was written as one key (`a.b: 1`).
            first, _, rest = key.partition(".")
            nested = (
                f"write '{rest}' below '{first}', a line for each step"
                if rest and first in keys
                else None
            )
            hint = nested or suggestion(key, keys) or _elsewhere(key, keys)
            yield [*path, key], f"unknown key '{key}'", hint
    elif error.validator == "required":
        unknown = _unknown(error)
        for key in error.validator_value:
            is_meant = key not in error.instance and f"'{key}'" in error.message
            if is_meant and not any(suggestion(name, [key]) for name in unknown):
                yield path, f"{_subject(path)} has no '{key}'", None
    elif error.validator == "enum":
        allowed = " or ".join(str(value) for value in error.validator_value)
        enum_message = f"{_subject(path)} must be {allowed}, not {_shown(error.instance)}"
        if not isinstance(error.instance, str):
            enum_hint: str | None = None
        elif error.instance.lower() == "force" and "Enforce" in error.validator_value:
            enum_hint = "Kyverno's word is Enforce"
        else:
            enum_hint = suggestion(error.instance, [str(value) for value in error.validator_value])
        yield path, enum_message, enum_hint
    elif error.validator in ("oneOf", "anyOf"):
        fitting = [
            inner
            for inner in error.context
            if not (inner.validator == "type" and len(inner.absolute_path) == len(path))
        ]
        required = [inner for inner in fitting if inner.validator == "required"]
        if required and len(required) == len(error.validator_value):
            if not _unknown(error):
                keys = [key for inner in required for key in inner.validator_value]
                yield path, f"{_subject(path)} is without effect", "give one of " + ", ".join(keys)
        elif fitting:
            for inner in fitting:
                yield from _findings(inner)
        else:
            kinds = [inner.validator_value for inner in error.context if inner.validator == "type"]
            wanted = " or ".join(_type_names(kind) for kind in kinds)
            yield path, f"{_subject(path)} must be {wanted}, not {_shown(error.instance)}", None
    else:
        yield path, _message(error, path), _hint(error)


def _unknown(error: Any) -> list[str]:
    """Keys of what is wrong that its schema refuses, whatever else is wrong with it."""
    if error.schema.get("additionalProperties") is not False:
        return []
    properties = error.schema.get("properties", {})
    return [str(key) for key in error.instance if key not in properties]


def _elsewhere(key: str, keys: Mapping[str, Any]) -> str:
    """Return the hint for an unknown key: where it is one below a known key, else all of these."""
    places = [f"'{parent}.{key}'" for parent in keys if key in keys[parent].get("properties", {})]
    few = places if len(places) <= _FEW else []
    return f"did you mean {' or '.join(few)}?" if few else "known are " + ", ".join(keys)


def _message(error: Any, path: list[str | int]) -> str:
    subject = _subject(path)
    match error.validator:
        case "type":
            return f"{subject} must be {_type_names(error.validator_value)}, not " + _shown(
                error.instance
            )
        case "minProperties" | "minItems" | "minLength":
            return f"{subject} is empty"
        case "minimum" | "maximum":
            least, most = error.schema.get("minimum"), error.schema.get("maximum")
            if least is not None and most is not None:
                value_range = f"from {least} to {most}"
            else:
                value_range = f"{most} or less" if least is None else f"{least} or more"
            return f"{subject} must be {value_range}, not {error.instance}"
        case "pattern":
            return f"{subject} is {_shown(error.instance)}, which does not fit its form"
        case "const" if " " in str(error.validator_value):
            # A reason stands there (chartkit.charts.policies.values_schema).
            return f"{subject}: {error.validator_value}"
    return f"{subject}: {error.message}"


def _hint(error: Any) -> str | None:
    if error.validator == "type" and error.validator_value == "null":
        return "set it to null: a key beside it takes its place"
    if error.validator != "type" or error.validator_value != "string":
        return None
    if isinstance(error.instance, bool):
        return "YAML reads yes, no, on, off, y and n as true or false: quote the text"
    if isinstance(error.instance, float):
        return 'quote versions: YAML reads 1.10 as 1.1, and "1.10" as it is'
    if not isinstance(error.instance, int):
        return None
    pattern, written = error.schema.get("pattern", ""), str(error.instance)
    with suppress(re.error):  # JSON Schema's regular expressions are ECMAScript's.
        if not re.search(pattern, written) and re.search(pattern, f"{written}s"):
            return f"it is a duration with a unit: {written}s, or {written}m"
    return f'quote it: "{written}"'


def _subject(path: list[str | int]) -> str:
    names = [str(step) for step in path]
    return f"'{'.'.join(names)}'" if names else "the file"


def _type_names(kinds: str | list[str]) -> str:
    names = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(_TYPES[name] for name in names)


def _shown(value: Json) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
