"""Recorded answers in test files: `apiCallResponses` and `globalContextEntries`.

They are validated as in Kyverno (`ValidateAPICallResponses`, `ValidateGlobalContextEntries`), with
the location of each fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body, Json

_CALLS: Final = "apiCallResponses"
_ENTRIES: Final = "globalContextEntries"
_SOURCES: Final = ("data", "resources", "resourceFiles")
_Path = tuple[str | int, ...]


class _Place:
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

    def inner(self, *keys: str | int) -> _Place:
        body: Json = self.body
        for key in keys:
            body = body[key]
        return _Place(self._document, (*self._path, *keys), body)


def read_api_calls(document: Document, items: list[Json]) -> tuple[Body, ...]:
    """Return the recorded answers to calls; raise InputError."""
    seen: set[tuple[str, str]] = set()
    for place in _places(document, _CALLS, items):
        key = (place.text("method").upper(), _url(place))
        if key[0] not in ("", "GET", "POST"):
            raise place.fault("method must be GET or POST", "method")
        if key in seen:
            raise place.fault(f"is a second answer for {' '.join(filter(None, key))}")
        seen.add(key)
        if "response" not in place.body:
            raise place.fault("has no response")
        response = place.inner("response")
        if not isinstance(response.body.get("body"), dict):
            raise response.fault("response.body must be a mapping", "body")
        status = response.body.get("statusCode") or 200
        if type(status) is not int or not 100 <= status <= 599:
            raise response.fault("statusCode must be between 100 and 599", "statusCode")
    return tuple(items)


def _url(place: _Place) -> str:
    url, path = place.text("url"), place.text("urlPath")
    if bool(url) == bool(path):
        raise place.fault("needs either url or urlPath")
    if path and not path.startswith("/"):
        raise place.fault("urlPath must start with /", "urlPath")
    if url:
        try:
            parts = urlsplit(url)
            is_good = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_good = False
        if not is_good:
            raise place.fault("url must be an absolute http or https URL", "url")
    return url or path


def read_global_entries(document: Document, items: list[Json]) -> tuple[Body, ...]:
    """Return the data of GlobalContextEntries; raise InputError."""
    seen: set[str] = set()
    for place in _places(document, _ENTRIES, items):
        name = place.text("name")
        if not name or name in seen:
            raise place.fault(f"is a second entry '{name}'" if name else "has no name", "name")
        seen.add(name)
        place.text("fieldPath")
        given = [key for key in _SOURCES if place.body.get(key) is not None]
        if len(given) != 1:
            raise place.fault(f"needs one of {', '.join(_SOURCES)}")
        _check_source(place, given[0])
        _check_projections(place)
    return tuple(items)


def _check_source(place: _Place, key: str) -> None:
    value = place.body[key]
    if key == "data":
        place.inner("data")
        return
    if not isinstance(value, list):
        raise place.fault(f"{key} must be a list", key)
    for index, item in enumerate(value):
        if key == "resources":
            place.inner(key, index)
        elif not isinstance(item, str) or not item.strip() or not _is_inside(item):
            text = "must be the path of a file at or below the test's folder"
            raise place.fault(text, key, index)


def _is_inside(text: str) -> bool:
    path = PurePosixPath(text)
    depth = 0
    for part in path.parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
    return not path.is_absolute()


def _check_projections(place: _Place) -> None:
    projections = place.body.get("projections")
    if projections is None:
        return
    if not isinstance(projections, list):
        raise place.fault("projections must be a list", "projections")
    for index in range(len(projections)):
        one = place.inner("projections", index)
        for key in ("name", "path"):
            if not one.text(key):
                raise one.fault(f"a projection needs a {key}", key)


def _places(document: Document, key: str, items: list[Json]) -> Iterator[_Place]:
    for index, item in enumerate(items):
        yield _Place(document, (key, index), item)
