"""Test files of the schema `cli.kyverno.io/v1alpha1`, kind Test: found and parsed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from chartkit.documents.reader import Document, read_file
from chartkit.engine.cli_files import read_values
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location
from chartkit.suggestions import suggestion
from chartkit.testing.mocks import read_api_calls, read_global_entries
from chartkit.testing.model import Expectation, ResourceSpec, TestFile

FILE_NAME: Final = "kyverno-test.yaml"
API_VERSION: Final = "cli.kyverno.io/v1alpha1"
OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE")

_TEXT, _TEXTS, _OBJECTS, _OBJECT, _FLAG = (
    "a text",
    "a list of texts",
    "a list",
    "a mapping",
    "a flag",
)
_FIELDS: Final = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": _OBJECT,
    "name": _TEXT,
    "policies": _TEXTS,
    "resources": _TEXTS,
    "jsonPayload": _TEXT,
    "jsonPayloads": _TEXTS,
    "httpPayloads": _TEXTS,
    "envoyPayloads": _TEXTS,
    "targetResources": _TEXTS,
    "variables": _TEXT,
    "paramResources": _TEXTS,
    "userinfo": _TEXT,
    "results": _OBJECTS,
    "values": _OBJECT,
    "exceptions": _TEXTS,
    "context": _TEXT,
    "clusterResources": _TEXTS,
    "apiCallResponses": _OBJECTS,
    "globalContextEntries": _OBJECTS,
}
_RESULT_FIELDS: Final = {
    "policy": _TEXT,
    "rule": _TEXT,
    "isValidatingAdmissionPolicy": _FLAG,
    "isMutatingAdmissionPolicy": _FLAG,
    "isValidatingPolicy": _FLAG,
    "isDeletingPolicy": _FLAG,
    "isImageValidatingPolicy": _FLAG,
    "isGeneratingPolicy": _FLAG,
    "isMutatingPolicy": _FLAG,
    "result": _TEXT,
    "kind": _TEXT,
    "operation": _TEXT,
    "patchedResources": _TEXT,
    "generatedResource": _TEXT,
    "generatedResources": _TEXTS,
    "cloneSourceResource": _TEXT,
    "failOnMissingResources": _FLAG,
    "resources": _TEXTS,
    "resourceSpecs": _OBJECTS,
}
_SPEC_FIELDS: Final = dict.fromkeys(
    ("group", "version", "kind", "namespace", "subresource", "name"), _TEXT
)


def find_tests(path: Path, file_name: str = FILE_NAME) -> Iterator[Path]:
    """Yield the test files at or below a path, including hidden folders; raise InputError."""
    if os.path.exists(path) and not os.path.isdir(path):
        yield path
        return
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}"
        raise InputError(text, Location(str(path))) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from find_tests(Path(entry.path), file_name)
        elif entry.name == file_name:
            yield Path(entry.path)


def read_test_file(path: Path) -> list[TestFile]:
    """Return the tests of a file, one for each document; raise InputError for what Kyverno
    refuses."""
    documents = read_file(path)
    if not documents:
        hint = f"write apiVersion: {API_VERSION}, kind: Test and results, or remove the file"
        raise InputError("holds no test", Location(str(path)), hint)
    return [_read(path, document) for document in documents]


def _read(path: Path, document: Document) -> TestFile:
    body = _checked(document, document.body, _FIELDS, ())
    for key, wanted in (("apiVersion", API_VERSION), ("kind", "Test")):
        if not body.get(key):
            raise InputError(f"has no {key}", document.locate(key), f"write {key}: {wanted}")
    metadata = body.get("metadata") or {}
    values = body.get("values")
    return TestFile(
        path=path,
        name=str(metadata.get("name") or ""),
        location=document.location,
        policies=_unique(body, "policies"),
        resources=_unique(body, "resources"),
        targets=_unique(body, "targetResources"),
        params=_unique(body, "paramResources"),
        payloads=_payloads(body),
        other_payloads=_unique(body, "httpPayloads") + _unique(body, "envoyPayloads"),
        context=body.get("context") or "",
        exceptions=_unique(body, "exceptions"),
        cluster_resources=_unique(body, "clusterResources"),
        variables=body.get("variables") or "",
        values=None if values is None else read_values(values, document.locate("values")),
        user_info=body.get("userinfo") or "",
        api_calls=read_api_calls(document, body.get("apiCallResponses") or []),
        global_entries=read_global_entries(document, body.get("globalContextEntries") or []),
        expectations=tuple(_expectations(document, body.get("results") or [])),
    )


def _expectations(document: Document, results: list[Json]) -> Iterator[Expectation]:
    for index, result in enumerate(results):
        body = _checked(document, result, _RESULT_FIELDS, ("results", index))
        place = document.locate("results", index)
        operation = body.get("operation") or ""
        if operation and operation not in OPERATIONS:
            hint = f"one of {', '.join(OPERATIONS)}"
            where = document.locate("results", index, "operation")
            raise InputError(f"invalid operation '{operation}'", where, hint)
        resources = body.get("resources")
        single = body.get("generatedResource")
        generated = body.get("generatedResources") or ([single] if single else [])
        yield Expectation(
            policy=body.get("policy") or "",
            rule=body.get("rule") or "",
            result=body.get("result") or "",
            location=place,
            resources=None if resources is None else tuple(resources),
            specs=tuple(_specs(document, body.get("resourceSpecs") or [], index)),
            patched=body.get("patchedResources") or "",
            generated=tuple(generated),
            clone_source=body.get("cloneSourceResource") or "",
            fail_on_missing=bool(body.get("failOnMissingResources")),
            operation=operation,
        )


def _specs(document: Document, specs: list[Json], index: int) -> Iterator[ResourceSpec]:
    for number, spec in enumerate(specs):
        body = _checked(document, spec, _SPEC_FIELDS, ("results", index, "resourceSpecs", number))
        yield ResourceSpec(
            *(body.get(key) or "" for key in ("group", "version", "namespace", "name"))
        )


def _checked(
    document: Document, body: Json, fields: dict[str, str], path: tuple[str | int, ...]
) -> Body:
    """Return an object with its fields' canonical names, which Kyverno matches regardless of
    case."""
    if not isinstance(body, dict):
        raise InputError("must be a mapping", document.locate(*path))
    known = {name.lower(): name for name in fields}
    checked: Body = {}
    for key, value in body.items():
        name = known.get(str(key).lower())
        place = (*path, key)
        if name is None:
            hint = suggestion(str(key), fields) or f"known are {', '.join(fields)}"
            raise InputError(f"unknown field '{key}'", document.locate(*place), hint)
        if value is not None and not _fits(value, fields[name]):
            raise InputError(f"'{key}' must be {fields[name]}", document.locate(*place))
        checked[name] = value
    return checked


def _fits(value: Any, what: str) -> bool:
    if what is _TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    types = {_TEXT: str, _OBJECTS: list, _OBJECT: dict, _FLAG: bool}
    return isinstance(value, types[what])


def _payloads(body: Body) -> tuple[str, ...]:
    single = body.get("jsonPayload")
    return tuple(dict.fromkeys([*([single] if single else []), *_unique(body, "jsonPayloads")]))


def _unique(body: Body, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(body.get(key) or ()))
