"""The data that expressions see: the admission request, foreach elements and context entries.

A context is made once per resource and policy and costs the same for any size of object: nothing
is copied. Rules and foreach elements work on a `child`, which shares everything with its parent
and keeps its changes to itself. Context entries are deferred: they are loaded when an expression
first names them, with the order, limits and reloading of Kyverno's `pkg/engine/context`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath import Expression, JMESPathError, compile_expression
from chartkit.engine.kubernetes.kinds import POD_SPECS
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.errors import ChartkitError, EvaluationError, Reraise
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json, kind_of, text_of

if TYPE_CHECKING:
    from chartkit.engine.context.recorder import Recorder


def has_images(resource: Body) -> bool:
    """Report whether objects of this kind have containers at all."""
    kind = kind_of(resource)
    return kind == "Pod" or kind in POD_SPECS


class QueryError(EvaluationError):
    """An expression that could not be searched in the context; the text is Kyverno's."""


MAX_CONTEXT_SIZE = 2 * 1024 * 1024
"""The most bytes of JSON in the entries of one context; Kyverno's own limit."""


NOTHING: Final = object()
"""The result of a loader that adds nothing to the context."""
_IMAGES = re.compile(r"(?:\A|[^.0-9A-Za-z])images\b", re.ASCII)


@dataclass(slots=True, eq=False)
class _Slot:
    """A loader in one evaluation, and how far it has come."""

    loader: Loader
    level: int
    loaded: bool = False
    matched: bool = False
    value: Json = None


@dataclass(slots=True)
class _Shared:
    """The common part of a context and all its children."""

    limit: tuple[int, int] | None = None
    size: int = 0
    depth: int = 0


class Context:
    """The data of one admission request that a rule can see."""

    __slots__ = (
        "_held",
        "_level",
        "_shared",
        "_slots",
        "budget",
        "data",
        "is_delete",
        "recorder",
        "world",
    )

    def __init__(
        self,
        data: dict[str, Json],
        world: World = OFFLINE,
        is_delete: bool = False,
        budget: Budget | None = None,
    ) -> None:
        """data: the top-level names; is_delete: whether `request.object` means the old object;
        budget: for all work in the context, a new one by default. Its recorder, which exists for
        `why` alone, is passed on to its children."""
        self.data = data
        self.budget = Budget() if budget is None else budget
        self.world = world
        self.is_delete = is_delete
        self.recorder: Recorder | None = None
        self._level = 0
        self._slots: list[_Slot] = []
        self._held: frozenset[_Slot] = frozenset()
        self._shared = _Shared()

    def child(self) -> Context:
        """Return a context for a rule or a foreach element; names set in it stay in it."""
        made = Context(dict(self.data), self.world, self.is_delete, self.budget)
        made._level = self._level + 1
        made._shared = self._shared
        made.recorder = self.recorder
        if slots := self._slots:
            for index, slot in enumerate(self._slots):
                if slot.loaded and slot not in self._held:
                    self._load(slot, index, quiet=True)
            made.data = dict(self.data)
            for slot in slots:
                slot.matched = False
            made._slots = slots.copy()
            made._held = self._held
        return made

    def query(self, expression: Expression) -> Json:
        """Return the result of an expression; the entries that it names are loaded first.

        Raises `QueryError` for a failed search, `BudgetError`, and what a loader raises.
        """
        budget = self.budget
        budget.steps -= expression.steps
        if self._slots:
            self._load_named(expression.text)
        try:
            return expression.search(self.data, budget)
        except JMESPathError as error:
            raise QueryError(f"JMESPath query failed: {error}") from error

    def query_text(self, query: str) -> Json:
        """As `query`, for an expression that is known only now."""
        if self._slots:
            self._load_named(query)
        query = query.strip()
        if not query:
            raise QueryError("invalid query (nil)")
        with Reraise(f"incorrect query {query}: ", JMESPathError, QueryError):
            expression = compile_expression(query)
        self.budget.spend(expression.steps + len(query), "an expression")
        with Reraise("JMESPath query failed: ", JMESPathError, QueryError):
            return expression.search(self.data, self.budget)

    @property
    def loaders(self) -> list[Loader]:
        """Return the context entries, in their order."""
        return [slot.loader for slot in self._slots]

    def defer(self, loader: Loader) -> None:
        """Takes a context entry, to be loaded when an expression names it."""
        self._slots.append(_Slot(loader, self._level))

    def set(self, name: str, value: Json) -> None:
        """Set or replace the value of a top-level name."""
        self.data[name] = value

    def add(self, path: tuple[str, ...], value: Json) -> None:
        """Merges a value in at a path, objects into objects; nothing shared is changed."""
        for name in reversed(path):
            value = {name: value}
        self.data = merge(self.data, value)

    def add_variables(self, values: Mapping[str, Json]) -> None:
        """Merges a user's values in, by their dotted names (a part may be quoted)."""
        for name, value in values.items():
            self.add(split_name(name), value)

    def count(self, size: int) -> None:
        """Counts an entry's size in bytes; raises `QueryError` when there is too much."""
        total = self._shared.size + size
        if total > MAX_CONTEXT_SIZE:
            raise QueryError(
                f"context size limit exceeded: {total} bytes exceeds limit of "
                f"{MAX_CONTEXT_SIZE} bytes"
            )
        self._shared.size = total

    @contextmanager
    def nested(self) -> Iterator[int]:
        """Enter a value that came out of a variable; return the depth."""
        shared = self._shared
        shared.depth += 1
        try:
            yield shared.depth
        finally:
            shared.depth -= 1

    def set_element(self, element: Json, index: int, nesting: int) -> None:
        """Gives a foreach its element; nesting counts from 0 for the outermost foreach."""
        data = self.data
        data["element"] = data[f"element{nesting}"] = element
        data["elementIndex"] = data[f"elementIndex{nesting}"] = Int64(index)

    def _load_named(self, query: str) -> None:
        slots = self._slots
        level, end = self._shared.limit or (self._level, len(slots))
        grew = True
        while grew:
            grew = False
            for index, slot in enumerate(slots[:end]):
                if slot.loaded:
                    if slot not in self._held:
                        self._load(slot, index, quiet=True)
                elif not slot.matched and slot.level <= level and slot.loader.matches(query):
                    slot.matched = True
                    self._load(slot, index)
                    grew = True
                    break

    def _load(self, slot: _Slot, index: int, quiet: bool = False) -> None:
        # A nested load lifts the limit of the one around it; Kyverno's does the same.
        self._shared.limit = (slot.level, index)
        self._held |= {slot}
        try:
            if not (slot.loaded and slot.loader.cached):
                timings = self.world.timings
                if timings is None:
                    slot.value = slot.loader.fetch(self)
                else:
                    slot.value = timings.entry(slot.loader.name, partial(slot.loader.fetch, self))
            slot.loaded = True
            if slot.value is not NOTHING:
                name = slot.loader.name
                if slot.loader.replaces:
                    self.data[name] = slot.value
                else:
                    self.data = merge(self.data, {name: slot.value})
            elif self.recorder is not None:
                self.recorder.failed_entry(slot.loader.name, "nothing answers for it")
        except ChartkitError as error:
            # Rules without entries share the admission's own context: each meets the failure.
            slot.matched = self._level > 0
            if not quiet:
                if self.recorder is not None:
                    self.recorder.failed_entry(slot.loader.name, error.message)
                raise
        finally:
            self._shared.limit = None


def merge(base: Mapping[str, Json], extra: Mapping[str, Json]) -> dict[str, Json]:
    """A new object: `extra` over `base`, objects merged into objects all the way down."""
    merged = dict(base)
    for key, value in extra.items():
        there = merged.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            merged[key] = merge(there, value)
        else:
            merged[key] = value
    return merged


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name; `a."b.c"` has two."""
    if '"' not in name:
        return tuple(name.split("."))
    import csv

    return tuple(next(csv.reader([name], delimiter=".")))


def admission_context(
    resource: Body | None,
    *,
    old: Body | None = None,
    operation: str = "CREATE",
    namespace: str = "",
    user: Mapping[str, Json] | None = None,
    review: Body | None = None,
    world: World = OFFLINE,
    budget: Budget | None = None,
) -> Context:
    """The context of one admission request, as Kyverno's command-line program makes it, or as its
    admission controller does of a review.

    resource, old: `request.object` and `request.oldObject`, left out where None; namespace:
    `request.namespace`; user: the fields next to it in the request (`userInfo`, `roles`,
    `clusterRoles`), from which the service account's name and namespace are read; review: all
    other fields of the request, in which an object that is missing is null.
    """
    request: dict[str, Json] = {"operation": operation}
    if review is not None:
        request = request | review
    else:
        request["namespace"] = namespace
    if resource is not None or review is not None:
        request["object"] = resource
    if old is not None or review is not None:
        request["oldObject"] = old
    data: dict[str, Json] = {"request": request}
    if user is not None:
        request.update(user)
        info = user.get("userInfo")
        name = info.get("username") if isinstance(info, dict) else None
        data.update(service_account(text_of(name)))
    context = Context(data, world, operation == "DELETE", budget)
    if resource is not None and has_images(resource):
        context.defer(ImagesLoader(resource))
    return context


_SERVICE_ACCOUNT = len("system:serviceaccount:")


def service_account(username: str) -> dict[str, str]:
    """`serviceAccountName` and `serviceAccountNamespace` of a user name; empty for other users."""
    parts = username[_SERVICE_ACCOUNT:].split(":")
    namespace, name = parts[:2] if len(parts) >= 2 else ("", "")
    return {"serviceAccountName": name, "serviceAccountNamespace": namespace}


class Loader(ABC):
    """A compiled context entry; one serves every resource.

    replaces: whether its value replaces the value under the name, or is merged in; cached: whether
    what was fetched once holds for the rest of the rule.
    """

    name: str
    replaces = False
    cached = True

    @abstractmethod
    def matches(self, query: str, /) -> bool:
        """Report whether a query names the entry, by its text alone."""

    @abstractmethod
    def fetch(self, context: Context, /) -> Json:
        """The entry's value (`NOTHING` for none); raises `EvaluationError`."""


def names_images(query: str) -> bool:
    """Report whether an expression has the images of an object read, as Kyverno looks for it."""
    return "images" in query and _IMAGES.search(query) is not None


class ImagesLoader(Loader):
    """Loads `images` when an expression names it, and nothing for other kinds."""

    name = "images"

    def __init__(self, resource: Body) -> None:
        self._resource = resource

    def matches(self, query: str, /) -> bool:
        return names_images(query)

    def fetch(self, _: object, /) -> Json:
        """The images by kind of container and container name."""
        from chartkit.engine.context.images import extract_images

        return extract_images(self._resource) or NOTHING
