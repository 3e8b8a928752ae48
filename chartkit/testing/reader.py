"""Test files of the schema `cli.kyverno.io/v1alpha1`, kind Test: found and parsed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import normpath
from typing import Any, Final
from urllib.parse import urlsplit

from chartkit.documents.reader import Document, read_file
from chartkit.engine.cli_files.user_files import (
    API_CALLS,
    GLOBAL_ENTRIES,
    METADATA,
    decoded,
    read_values,
)
from chartkit.errors import InputError, system_errors
from chartkit.model import Body, Json, Location
from chartkit.suggestions import suggestion
from chartkit.testing.model import Expectation, ResourceSpec, TestFile, read_assertions

_CALLS: Final = "apiCallResponses"
_ENTRIES: Final = "globalContextEntries"
_SOURCES: Final = ("data", "resources", "resourceFiles")
_Path = tuple[str | int, ...]
FILE_NAME: Final = "kyverno-test.yaml"
API_VERSION: Final = "cli.kyverno.io/v1alpha1"
OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE")
_FIELDS, _RESULT_FIELDS, _SPEC_FIELDS = read_file(Path(__file__).with_name("fields.yaml"))[0].body
"""The fields of a test file, of a row of its results, and of an object that a row names."""
_TEXTS: Final = "a list of texts"
_TYPES: Final = {"a text": str, "a list": list, _TEXTS: list, "a mapping": dict, "a flag": bool}


class _Section:
    """A part of a document, for errors with its location."""

    __slots__ = ("_document", "_path", "body")

    def __init__(self, document: Document, path: _Path, body: Json) -> None:
        self._document = document
        self._path = path
        if not isinstance(body, dict):
            raise self.fault("must be a mapping")
        self.body: Body = body

    def fault(self, text: str, *keys: str | int) -> InputError:
        return InputError(text, self._document.locate(*self._path, *keys))

    def text(self, key: str) -> str:
        value = self.body.get(key)
        if value is not None and not isinstance(value, str):
            raise self.fault(f"{key} must be a text", key)
        return (value or "").strip()

    def inner(self, *keys: str | int) -> _Section:
        body: Json = self.body
        for key in keys:
            body = body[key]
        return _Section(self._document, (*self._path, *keys), body)


def read_api_calls(document: Document, items: list[Json]) -> tuple[Body, ...]:
    """Return the recorded answers to calls; raise InputError."""
    seen: set[tuple[str, str]] = set()
    for section in _sections(document, _CALLS, items):
        url, path = section.text("url"), section.text("urlPath")
        if bool(url) == bool(path):
            raise section.fault("needs either url or urlPath")
        if path and not path.startswith("/"):
            raise section.fault("urlPath must start with /", "urlPath")
        if url:
            try:
                parts = urlsplit(url)
                is_good = parts.scheme in ("http", "https") and bool(parts.hostname)
            except ValueError:
                is_good = False
            if not is_good:
                raise section.fault("url must be an absolute http or https URL", "url")
        key = (section.text("method").upper(), (url or path))
        if key[0] not in ("", "GET", "POST"):
            raise section.fault("method must be GET or POST", "method")
        if key in seen:
            raise section.fault(f"is a second answer for {' '.join(filter(None, key))}")
        seen.add(key)
        if "response" not in section.body:
            raise section.fault("has no response")
        response = section.inner("response")
        if not isinstance(response.body.get("body"), dict):
            raise response.fault("response.body must be a mapping", "body")
        status = response.body.get("statusCode") or 200
        if type(status) is not int or not 100 <= status <= 599:
            raise response.fault("statusCode must be between 100 and 599", "statusCode")
    return tuple(items)


def read_global_entries(document: Document, items: list[Json]) -> tuple[Body, ...]:
    """Return the data of GlobalContextEntries; raise InputError."""
    seen: set[str] = set()
    for section in _sections(document, _ENTRIES, items):
        name = section.text("name")
        if not name or name in seen:
            raise section.fault(f"is a second entry '{name}'" if name else "has no name", "name")
        seen.add(name)
        section.text("fieldPath")
        given = [key for key in _SOURCES if section.body.get(key) is not None]
        if len(given) != 1:
            raise section.fault(f"needs one of {', '.join(_SOURCES)}")
        _check_source(section, given[0])
        projections = section.body.get("projections")
        if projections is None:
            continue
        if not isinstance(projections, list):
            raise section.fault("projections must be a list", "projections")
        for index in range(len(projections)):
            projection = section.inner("projections", index)
            for key in ("name", "path"):
                if not projection.text(key):
                    raise projection.fault(f"a projection needs a {key}", key)
    return tuple(items)


def _check_source(section: _Section, key: str) -> None:
    value = section.body[key]
    if key == "data":
        section.inner("data")
        return
    if not isinstance(value, list):
        raise section.fault(f"{key} must be a list", key)
    for index, item in enumerate(value):
        if key == "resources":
            section.inner(key, index)
        elif (
            not isinstance(item, str)
            or not item.strip()
            or normpath(item.strip()).split("/")[0] in ("", "..")
        ):
            text = "must be the path of a file at or below the test's folder"
            raise section.fault(text, key, index)


def _sections(document: Document, key: str, items: list[Json]) -> Iterator[_Section]:
    for index, item in enumerate(items):
        yield _Section(document, (key, index), item)


def find_tests(path: Path, file_name: str = FILE_NAME) -> Iterator[Path]:
    """Yield the test files at or below a path, including hidden folders; raise InputError."""
    if os.path.exists(path) and not os.path.isdir(path):
        yield path
        return
    with system_errors("cannot be read", path):
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from find_tests(Path(entry.path), file_name)
        elif entry.name == file_name:
            yield Path(entry.path)


def read_test_file(path: Path) -> list[TestFile]:
    """The tests of a file, one for each document; raises InputError for what Kyverno refuses."""
    documents = read_file(path)
    if not documents:
        hint = f"write apiVersion: {API_VERSION}, kind: Test and results, or remove the file"
        raise InputError("holds no test", Location(str(path)), hint)
    return parse_tests(path, documents)


def parse_tests(path: Path, documents: Iterable[Document]) -> list[TestFile]:
    """Return the tests in documents of a file; raise InputError for what Kyverno refuses."""
    tests: list[TestFile] = []
    for document in documents:
        body = _checked(document, document.body, _FIELDS, ())
        for key, wanted in (("apiVersion", API_VERSION), ("kind", "Test")):
            if not body.get(key):
                raise InputError(f"has no {key}", document.locate(key), f"write {key}: {wanted}")
        if body.get("name"):
            raise InputError("'name' is deprecated", document.locate("name"), "write metadata.name")
        metadata = _decoded(document, body, "metadata", METADATA) or {}
        values = body.get("values")
        payloads = body.get("jsonPayloads") or [body.get("jsonPayload") or ""]
        calls = _decoded(document, body, _CALLS, API_CALLS) or []
        entries = _decoded(document, body, _ENTRIES, GLOBAL_ENTRIES) or []
        test = TestFile(
            path=path,
            name=str(metadata.get("name") or ""),
            location=document.location,
            policies=_unique(body, "policies"),
            resources=_unique(body, "resources"),
            targets=_unique(body, "targetResources"),
            params=_unique(body, "paramResources"),
            payloads=tuple(dict.fromkeys(normpath(name) for name in payloads if name.strip())),
            other_payloads=_unique(body, "httpPayloads") + _unique(body, "envoyPayloads"),
            context=body.get("context") or "",
            exceptions=_unique(body, "exceptions"),
            cluster_resources=_unique(body, "clusterResources"),
            variables=body.get("variables") or "",
            values=None if values is None else read_values(values, document.locate("values")),
            user_info=body.get("userinfo") or "",
            api_calls=read_api_calls(document, calls),
            global_entries=read_global_entries(document, entries),
            expectations=tuple(_expectations(document, body.get("results") or [])),
            assertions=tuple(read_assertions(document)),
        )
        tests.append(test)
    return tests


def _decoded(document: Document, body: Body, key: str, shape: str) -> Any:
    return decoded(body.get(key), shape, key, document.locate(key))


def _expectations(document: Document, results: list[Json]) -> Iterator[Expectation]:
    for index, result in enumerate(results):
        body = _checked(document, result, _RESULT_FIELDS, ("results", index))
        location = document.locate("results", index)
        operation = body.get("operation") or ""
        if operation and operation not in OPERATIONS:
            hint = f"one of {', '.join(OPERATIONS)}"
            where = document.locate("results", index, "operation")
            raise InputError(f"invalid operation '{operation}'", where, hint)
        specs: list[ResourceSpec] = []
        for number, spec in enumerate(body.get("resourceSpecs") or []):
            at = ("results", index, "resourceSpecs", number)
            fields = _checked(document, spec, _SPEC_FIELDS, at)
            values = (fields.get(key) or "" for key in ("group", "version", "namespace", "name"))
            specs.append(ResourceSpec(*values))
        resources = body.get("resources")
        single = body.get("generatedResource")
        generated = body.get("generatedResources") or ([single] if single else [])
        yield Expectation(
            policy=body.get("policy") or "",
            rule=body.get("rule") or "",
            result=body.get("result") or "",
            location=location,
            resources=None if resources is None else tuple(resources),
            specs=tuple(specs),
            patched=body.get("patchedResources") or "",
            generated=tuple(generated),
            clone_source=body.get("cloneSourceResource") or "",
            fail_on_missing=bool(body.get("failOnMissingResources")),
            operation=operation,
        )


def _checked(
    document: Document, body: Json, fields: dict[str, str], path: tuple[str | int, ...]
) -> Body:
    """An object with its fields' canonical names; Kyverno ignores case."""
    if not isinstance(body, dict):
        raise InputError("must be a mapping", document.locate(*path))
    names = {name.lower(): name for name in fields}
    checked: Body = {}
    for key, value in body.items():
        name = names.get(str(key).lower())
        at = (*path, key)
        if name is None:
            hint = suggestion(str(key), fields) or f"known are {', '.join(fields)}"
            raise InputError(f"unknown field '{key}'", document.locate(*at), hint)
        wanted = fields[name]
        texts = value if wanted == _TEXTS and isinstance(value, list) else ()
        is_fit = isinstance(value, _TYPES[wanted]) and all(isinstance(text, str) for text in texts)
        if value is not None and not is_fit:
            raise InputError(f"'{key}' must be {wanted}", document.locate(*at))
        checked[name] = value
    return checked


def _unique(body: Body, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(body.get(key) or ()))
