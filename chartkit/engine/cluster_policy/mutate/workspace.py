"""The state of the object that a rule patches, so that a patch costs no more than its changes.

A foreach patches one object once for each of its elements. Only the first patch reads the whole
object; what a patch does not touch is shared by the object before and after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from operator import is_, itemgetter
from typing import Any, Final, NamedTuple, Protocol

from chartkit.engine.budget import Budget
from chartkit.engine.json_patch import copied
from chartkit.model import Body, Json

_TABLE: Final = "merge_keys.json"


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of one place in an object.

    type: the name of its type in the table, or of the elements where it is a list; keys: the
    merge keys of a list that is joined, None for all else; is_map: whether every field is of the
    same type.
    """

    type: str
    keys: tuple[str, ...] | None = None
    is_map: bool = False

    def field(self, name: str) -> Schema | None:
        if self.keys is not None:
            return None
        if self.is_map:
            return _of_type(self.type)
        return _fields(self.type).get(name)

    def elements(self) -> Schema | None:
        return None if self.keys is None else _of_type(self.type)


def schema_of_kind(api_version: str, kind: str) -> Schema | None:
    """Return the schema of a kind; None for a kind that is not Kubernetes' own."""
    name = _table()["kinds"].get(f"{api_version}/{kind}")
    return None if name is None else Schema(name)


@cache
def _of_type(name: str) -> Schema:
    return Schema(name)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(files(__package__).joinpath(_TABLE).read_text("utf-8"))
    return table


@cache
def _fields(type_name: str) -> dict[str, Schema]:
    fields = _table()["types"].get(type_name, {})
    return {name: _schema(entry) for name, entry in fields.items()}


def _schema(entry: Json) -> Schema:
    if isinstance(entry, list):
        return Schema(entry[0], tuple(entry[1:]))
    if isinstance(entry, dict):
        return Schema(entry["values"], is_map=True)
    return Schema(entry)


def _fill(body: Body, members: list[tuple[str, Json]]) -> None:
    body.clear()
    body.update(members)


def _objects(value: Json) -> Iterator[Body]:
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from _objects(member)
    elif isinstance(value, list):
        for member in value:
            yield from _objects(member)


_first: Final = itemgetter(0)


Texts = tuple[str, ...]
"""The texts of an element's keys."""

_MOST_LISTS: Final = 16


class Indexed(NamedTuple):
    """A list by the keys of its elements, and the keys that are not settled."""

    source: list[Json]
    elements: dict[Texts, Json]
    pending: tuple[Texts, ...]


def unchanged(before: Json, after: Json) -> bool:
    """Report whether two containers have identical members in the same order."""
    if isinstance(before, dict):
        return list(before) == list(after) and all(map(is_, before.values(), after.values()))
    return len(before) == len(after) and all(map(is_, before, after))


_FEW: Final = 3
"""The number of merges that read the whole object, which is faster for so few."""


class Workspace:
    """The budget of patches, and the object that the last patch left, with its keys sorted.

    Containers that a patch is about to change are copied first, so everything else is shared by the
    object before and after it. shares: whether strategic merges do so, too; unmet: collects the
    anchors that keep merges from applying, None if not needed.
    """

    __slots__ = (
        "_base",
        "_before",
        "_lists",
        "_merges",
        "_parts",
        "_resource",
        "_written",
        "budget",
        "changed",
        "shares",
        "unmet",
    )

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self.shares = False
        self.unmet: list[str] | None = None
        self.changed: list[Json] = []
        self._merges = 0
        self._resource: Body | None = None
        self._base: Json = None
        # The objects that the last patch wrote into, and the order of their keys before this one.
        self._written: list[Body] = []
        self._before: list[tuple[Body, list[tuple[str, Json]]]] = []
        self._parts: dict[int, tuple[Json, Schema | None]] = {}
        self._lists: dict[int, Indexed] = {}

    def target(self, resource: Body) -> Json:
        """An object with its keys sorted for a strategic merge: a copy, or for reading alone."""
        self._merges += 1
        self.shares = self._merges > _FEW
        self.changed = []
        return self.opened(resource) if self.shares else copied(resource)

    def opened(self, resource: Body) -> Json:
        """An object with its keys sorted, for reading alone; the last one is not read again."""
        if resource is not self._resource:
            self._resource, self._base = resource, copied(resource)
            self._parts, self._lists, self._written = {}, {}, []
        self._before = [(body, list(body.items())) for body in self._written]
        for body, members in self._before:
            _fill(body, sorted(members, key=_first))
        return self._base

    def left(self) -> None:
        """Takes that a patch changed nothing."""
        for body, members in self._before:
            _fill(body, members)
        self._before = []

    def keep(self, patched: Json, changed: Iterable[Json], written: Json) -> None:
        """Keep the patched object; changed: the containers that the patch wrote into; written: the
        values that it may have put there."""
        if isinstance(patched, dict):
            self._resource = self._base = patched
            self._before = []
            objects = (container for container in changed if isinstance(container, dict))
            self._written = [
                body for body in chain(objects, _objects(written)) if list(body) != sorted(body)
            ]

    def own(self, container: Json) -> Json:
        """A copy of a container, to be changed by a merge."""
        made = container.copy()
        self.changed.append(made)
        return made

    def knows(self, container: Json, schema: Schema | None) -> bool:
        """Report whether a merge leaves a container unchanged."""
        part = self._parts.get(id(container))
        return part is not None and part[1] == schema

    def settle(self, container: Json, schema: Schema | None) -> None:
        """Note a container that a merge left unchanged."""
        self._parts[id(container)] = (container, schema)

    def indexed(self, source: Json) -> Indexed | None:
        """Return the index of a list that a merge produced."""
        return self._lists.pop(id(source), None)

    def index(self, made: Indexed) -> None:
        """Takes a list that a merge made."""
        if len(self._lists) >= _MOST_LISTS:
            del self._lists[next(iter(self._lists))]
        self._lists[id(made.source)] = made


class Patch(Protocol):
    """Makes the patched object, or gives the very same where nothing changes."""

    def __call__(self, resource: Body, work: Workspace | None = None, /) -> Json:
        """Patch a resource, which itself stays unchanged; raises `PatchError` and `BudgetError`.

        work: the work of all patches of one object, where there are many.
        """
