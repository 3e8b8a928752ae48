"""JSON Patch (RFC 6902) on documents, for policies of both generations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NoReturn

from chartkit.errors import EvaluationError, Reraise
from chartkit.go.fmt import json_float
from chartkit.go.strconv import Int64, quote
from chartkit.model import Body, Json


class PatchError(EvaluationError):
    """A patch that cannot be applied to an object; the text is Kyverno's."""


class SecondKey(str):
    """A key that another key of its object has come to be equal to; the first one counts."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


MISSING: Final[Any] = object()
"""Marks a missing value."""

KEPT_NULL: Final[Any] = object()
"""A null of the object that the patch does not name; it stays."""


def is_absent(value: Json) -> bool:
    """Report whether a value is not there or null."""
    return value is MISSING or value is None or value is KEPT_NULL


def is_empty(value: Json) -> bool:
    """Report whether a value is not there, null, or has nothing inside."""
    return is_absent(value) or value in ({}, [])


def scalar_text(value: Json) -> str:
    """The text of a scalar in JSON, without quotes; empty for an object or a list."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is Int64:
        return str(value)
    return json_float(value) if kind is float else ""


def get_field(value: Json, name: str) -> Json:
    """Return a field's value; MISSING without the field, or if the value is not an object."""
    return value.get(name, MISSING) if isinstance(value, dict) else MISSING


def set_field(target: dict[str, Json], name: str, value: Json) -> None:
    """Sets a field; a null removes it.

    What takes the place of a text stays a text: kustomize keeps the quotes that were there.
    """
    if value is KEPT_NULL:
        target[name] = None
    elif value is MISSING or value is None:
        target.pop(name, None)
    elif isinstance(target.get(name), str) and not isinstance(value, str | dict | list):
        target[name] = scalar_text(value)
    else:
        target[name] = value


def copied(value: Json) -> Json:
    """Return a copy whose objects and lists can be changed, the keys of objects in order."""
    if isinstance(value, dict):
        return {
            key: member if member.__class__ is str else copied(member)
            for key, member in sorted(value.items(), key=_first)
        }
    return [copied(member) for member in value] if isinstance(value, list) else value


_first: Final = itemgetter(0)


def second_key(value: Json) -> SecondKey | None:
    """The first key that occurs twice in an object, at any depth."""
    members: Iterable[Json] = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, SecondKey):
                return key
        members = value.values()
    return next(filter(None, map(second_key, members)), None)


def expect_object(value: Json) -> None:
    """Raise `PatchError` for a value that is not an object, null or missing."""
    if not is_absent(value) and not isinstance(value, dict):
        raise wrong_kind(value, "MappingNode")


def expect_list(value: Json) -> None:
    """Raise `PatchError` for a value that is not a list, null or missing."""
    if not is_absent(value) and not isinstance(value, list):
        raise wrong_kind(value, "SequenceNode")


def expect_scalar(value: Json) -> None:
    """Raises `PatchError` for an object or a list."""
    if isinstance(value, dict | list):
        raise wrong_kind(value, "ScalarNode")


def wrong_kind(value: Json, expected: str) -> PatchError:
    """The error of a value that is not of the kind it must be."""
    if isinstance(value, dict):
        kind = "MappingNode"
    else:
        kind = "SequenceNode" if isinstance(value, list) else "ScalarNode"
    return PatchError(
        f"wrong node kind: expected {expected} but got {kind}: node contents:\n{flow_text(value)}\n"
    )


def flow_text(value: Json) -> str:
    """The value as YAML in one line."""
    if isinstance(value, dict):
        members = (f"{_quoted(key)}: {flow_text(member)}" for key, member in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    return _quoted(value) if isinstance(value, str) else scalar_text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


WRITTEN_NULL: Final[Any] = object()

_INDEX: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = 2**63
_MOST_NULLS: Final = 100_000
"""The most places of a list that a patch may skip; Kyverno would fill any number."""
MISSING_VALUE: Final = "missing value"
_INVALID_INDEX: Final = "invalid index referenced"
_NO_OBJECT: Final = "invalid value, expected object"
NO_DOCUMENT: Final = f"json: error calling MarshalJSON for type *jsonpatch.partialDoc: {_NO_OBJECT}"

Container = dict[str, Json] | list[Json]


class KeyMissingError(PatchError):
    """An object has no such key."""


class _NoObject(dict[str, Json]):
    """The new object of a deletion: JSON's null, in which nothing can be."""

    def __contains__(self, key: object) -> bool:
        raise PatchError(_NO_OBJECT)

    def __setitem__(self, key: str, value: Json) -> None:
        raise PatchError(_NO_OBJECT)

    def pop(self, *_: Any) -> NoReturn:
        """Raises `PatchError`."""
        raise PatchError(_NO_OBJECT)


class Document:
    """A document that is patched as by evanphx/json-patch 5: an object, or a list after a patch has
    replaced it. All methods that patch it may raise `PatchError`.

    It shares its containers with the object that it is made of, except for those on the path of an
    operation: these are copied before their first change.
    """

    __slots__ = ("_original", "_own", "root")

    def __init__(self, body: Body, sorted_body: Json) -> None:
        """sorted_body: the same with sorted keys; it is never changed."""
        self._original = body
        self.root: Container = sorted_body if body else _NoObject()
        self._own: dict[int, Container] = {}

    def find(self, path: str) -> tuple[Container | None, str]:
        """Return the container that holds a path's end, None if it is missing, and the last key."""
        parts = path.split("/")
        if len(parts) < 2:
            return (self._owned_root(), "") if not path else (None, "")
        container = self._owned_root()
        for part in parts[1:-1]:
            try:
                member = self._entered(container, decode(part))
            except PatchError:
                return None, ""
            if not isinstance(member, dict | list):
                return None, ""
            container = member
        return container, decode(parts[-1])

    def _owned_root(self) -> Container:
        if not isinstance(self.root, _NoObject):
            self.root = self._owned(self.root)
        return self.root

    def _owned(self, container: Container) -> Container:
        """A container that may be changed: this one, or a copy of it."""
        if id(container) in self._own:
            return container
        return self._kept(container.copy())

    def _kept(self, made: Container) -> Container:
        self._own[id(made)] = made
        return made

    def _entered(self, container: Container, key: str) -> Json:
        """Like `get`, for a container that is about to be changed."""
        member = self.get(container, key)
        if not key or not isinstance(member, dict | list):
            return member
        owned = self._owned(member)
        if owned is not member:
            put(container, key, owned)
        return owned

    def closed(self) -> Json:
        """Return the document as plain JSON; raises `PatchError` if it is missing."""
        return self._closed(self.root)

    @property
    def changed(self) -> Iterable[Container]:
        """The containers that are the document's own."""
        return self._own.values()

    def _closed(self, value: Json) -> Json:
        if isinstance(value, dict | list) and id(value) not in self._own:
            return closed(value) if isinstance(value, _NoObject) else value
        if isinstance(value, dict):
            for key, member in value.items():
                value[key] = self._closed(member)
        elif isinstance(value, list):
            own = self._own
            value[:] = [
                item if item.__class__ is dict and id(item) not in own else self._closed(item)
                for item in value
            ]
        else:
            value = closed(value)
        return value

    def get(self, container: Container, key: str) -> Json:
        """A member; None as well for the container itself (an empty key). Raises `PatchError`."""
        if not key:
            # The library reads its own text anew: what is done there is lost.
            return copied(self._original) if container is self.root else None
        if isinstance(container, dict):
            if key not in container:
                raise KeyMissingError(f"unable to get nonexistent key: {key}: {MISSING_VALUE}")
            return container[key]
        return container[place_of(container, key)]

    def ensure(self, path: str) -> None:
        """Create the missing containers on the way to a path's end. Raises `PatchError`."""
        parts = path.split("/")[1:]
        container = self._owned_root()
        for part, following in pairwise(parts):
            try:
                member = self._entered(container, decode(part))
            except PatchError:
                member = None
            if member is None:
                container = self._kept(_made(container, part, following))
            elif isinstance(member, dict | list):
                container = member
            else:
                raise PatchError("invalid state detected")

    def remove(self, container: Container, key: str) -> None:
        """Removes a member; one that is not there is no error."""
        if isinstance(container, dict):
            container.pop(key, None)
            return
        index = index_of(key)
        if -len(container) <= index < len(container):
            del container[index]

    def add(self, path: str, value: Json) -> None:
        container, key = located(self.find(path), f'add {NO_PLACE} path: "{path}"')
        with Reraise(f"error in add for path: '{path}': ", PatchError, PatchError):
            add(container, key, value)

    def replace(self, path: str, value: Json) -> None:
        """Replace the value at a path, or the whole document."""
        if not path:
            if not isinstance(value, dict | list):
                raise PatchError("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        container, key = located(self.find(path), f"replace {NO_PLACE} path: {path}")
        try:
            self.get(container, key)
        except PatchError as error:
            raise PatchError(f"replace {NO_PLACE} key: {path}: {MISSING_VALUE}") from error
        with Reraise(f"error in remove for path: '{path}': ", PatchError, PatchError):
            put(container, key, value)

    def move(self, source: str, path: str) -> None:
        """Move the value at a path to another."""
        container, key = located(self.find(source), f"move {NO_PLACE} from path: {source}")
        with Reraise(f"error in move for path: '{key}': ", PatchError, PatchError):
            value = self.get(container, key)
            self.remove(container, key)
        container, key = located(self.find(path), f"move {NO_PLACE} destination path: {path}")
        with Reraise(f"error in move for path: '{path}': ", PatchError, PatchError):
            add(container, key, value)

    def copy(self, source: str, path: str, shown: str, again: Callable[[Json], Json]) -> None:
        """Copy the value at a path to another; shown: the source in messages; again: makes the
        copy."""
        container, key = located(self.find(source), f"copy {NO_PLACE} from path: {shown}")
        with Reraise(f"error in copy for from: '{source}': ", PatchError, PatchError):
            value = self.get(container, key)
        container, key = located(self.find(path), f"copy {NO_PLACE} destination path: {path}")
        made = again(value)
        with Reraise("error while adding value during copy: ", PatchError, PatchError):
            add(container, key, made)


NO_PLACE: Final = "operation does not apply: doc is missing"
"""The beginning of the fault of an operation, after its name."""


def located(target: tuple[Container | None, str], fault: str) -> tuple[Container, str]:
    """The container and the key that a path leads to; raises `PatchError` if it is missing."""
    container, key = target
    if container is None:
        raise PatchError(f"{fault}: {MISSING_VALUE}")
    return container, key


def closed(value: Json) -> Json:
    """Return a part of a document as plain JSON; raises `PatchError` if it is missing."""
    if value is WRITTEN_NULL:
        return None
    if isinstance(value, _NoObject):
        raise PatchError(NO_DOCUMENT)
    if isinstance(value, dict):
        return {
            key: member if member.__class__ is str else closed(member)
            for key, member in value.items()
        }
    return [closed(element) for element in value] if isinstance(value, list) else value


def decode(part: str) -> str:
    """A part of a path without its escapes."""
    return part.replace("~1", "/").replace("~0", "~")


def index_of(key: str) -> int:
    """A place in a list as Go's `strconv.Atoi` reads it; raises `PatchError`."""
    if not _INDEX.fullmatch(key):
        raise PatchError(f"strconv.Atoi: parsing {quote(key)}: invalid syntax")
    index = int(key[:32])
    if not -_INT64 <= index < _INT64:
        raise PatchError(f"strconv.Atoi: parsing {quote(key)}: value out of range")
    return index


def place_of(container: list[Json], key: str) -> int:
    """The place of an element, counted from the end where the index is negative."""
    index = index_of(key)
    if not -len(container) <= index < len(container):
        raise _bad_index(index)
    return index % len(container)


def _bad_index(index: int) -> PatchError:
    return PatchError(f"Unable to access invalid index: {index}: {_INVALID_INDEX}")


def add(container: Container, key: str, value: Json) -> None:
    """Sets a key of an object or inserts into a list. Raises `PatchError`."""
    if isinstance(container, dict):
        container[key] = value
        return
    if key == "-":
        container.append(value)
        return
    try:
        index = index_of(key)
    except PatchError as error:
        raise PatchError(f"value was not a proper array index: '{key}': {error.message}") from error
    size = len(container) + 1
    if not -size <= index < size:
        raise _bad_index(index)
    container.insert(index % size, value)


def put(container: Container, key: str, value: Json) -> None:
    """Replace a value that exists. Raises `PatchError`."""
    if isinstance(container, dict):
        container[key] = value
    else:
        container[place_of(container, key)] = value


def _made(container: Container, part: str, following: str) -> Container:
    """Add the missing container under a part of a path: a list if an index or `-` follows."""
    if isinstance(container, list) and _INDEX.fullmatch(part):
        container += [WRITTEN_NULL] * _padding(index_of(part) - len(container))
    made: Container = {}
    if following == "-" or _INDEX.fullmatch(following):
        index = 0 if following == "-" else index_of(following)
        if index < -1:
            raise PatchError(
                f"Unable to ensure path for negative index other than -1: {index}: {_INVALID_INDEX}"
            )
        made = [WRITTEN_NULL] * _padding(index)
    with suppress(PatchError):
        add(container, part, made)
    return made


def _padding(count: int) -> int:
    if count > _MOST_NULLS:
        raise PatchError(f"a list would be filled up with more than {_MOST_NULLS} nulls")
    return max(count, 0)


def equal(left: Json, right: Json) -> bool:
    """Report whether two values are the same JSON text but for the order of keys."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return False
    left, right = closed(left), closed(right)
    return isinstance(left, str) is isinstance(right, str) and scalar_text(left) == scalar_text(
        right
    )
