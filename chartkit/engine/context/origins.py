"""The origins of what expressions see: the fields of the object, through variables, context
entries and the elements of loops.

They are looked for where a rule refused an object, to tell which fields that was about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.engine.budget import Budget
from chartkit.engine.context.context import Context, ImagesLoader, Loader
from chartkit.engine.context.variables import OPEN
from chartkit.engine.context.variables.syntax import (
    find_variables,
    is_whole,
    own_query,
    resolve_references,
    split_text,
    unescape,
)
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.traced import ANY_KEY, MOST_FIELDS, Traced, listed, made, named
from chartkit.errors import EvaluationError
from chartkit.go.fmt import embedded_json
from chartkit.model import Body, FieldPath, Json, path_step, pointer_of, pointer_steps

if TYPE_CHECKING:
    from chartkit.engine.context.entries.loader import EntryLoader, VariableLoader

_MOST_STEPS: Final = 100_000
"""The most steps of looking for the fields of one failure: some tenths of a second."""
_REQUEST: Final = -1
"""The key of the request among known entries."""


class Origins(NamedTuple):
    """The names that expressions see in a context, with the fields that they come from.

    judged: what patterns look at, the object or an element; elements: the names of loops; entries:
    the number of context entries that are seen, None for all; known: the entries looked at before.
    """

    context: Context
    judged: Traced
    budget: Budget
    elements: Mapping[str, Traced]
    known: dict[int, Traced]
    entries: int | None = None

    def inside(self, context: Context, judged: Traced, elements: Mapping[str, Traced]) -> Origins:
        """Return the origins inside a loop."""
        known = {_REQUEST: self._request()}
        return Origins(context, judged, self.budget, {**self.elements, **elements}, known)

    def query(self, text: str) -> Traced:
        """Return the result of an expression with its fields; raises `EvaluationError`."""
        if self.context.is_delete:
            text = text.replace("request.object", "request.oldObject")
        parts = _Lazy(lambda: self.context.data, self.name)
        names = Traced(self.context.data, parts=parts)
        from chartkit.engine.jmespath.tracing import compile_trace

        return compile_trace(text)(names, self.budget)

    def resolve(self, value: Json) -> Traced:
        """Return a value of a policy with its variables substituted, and the fields that these
        come from; raises `EvaluationError`."""
        return compile_traced(value)(self)

    def name(self, name: str) -> Traced | None:
        """Return what stands under a top-level name; None for nothing."""
        if name in self.elements:
            return self.elements[name]
        if name == "request":
            return self._request()
        loaders = self.context.loaders[: self.entries]
        for index in range(len(loaders) - 1, -1, -1):
            if loaders[index].name == name:
                return self._entry(loaders[index], index)
        return Traced(self.context.data[name]) if name in self.context.data else None

    def _request(self) -> Traced:
        found = self.known.get(_REQUEST)
        if found is None:
            request = self.context.data.get("request") or {}
            judged = "oldObject" if self.context.is_delete else "object"
            parts = _request_parts(request, judged)
            found = self.known[_REQUEST] = Traced(request, parts=parts)
        return found

    def _entry(self, loader: Loader, index: int) -> Traced:
        found = self.known.get(index)
        if found is None:
            earlier = self._replace(entries=index)
            found = self.known[index] = _entry(loader, earlier)
        name = loader.name
        if self.entries is None and found.value != self.context.data.get(name):
            return made(self.context.data.get(name), found)
        return found


Resolve = Callable[[Origins], Traced]
"""Substitutes the variables of a value; may raise EvaluationError."""


def compile_traced(value: Json) -> Resolve:
    """Return a value of a policy, to be resolved with the fields that its variables come from."""
    return _compile(resolve_references(value), "")


def _compile(value: Json, path: str) -> Resolve:
    if isinstance(value, str):
        return _compile_text(value, path)
    if isinstance(value, dict):
        members = {key: _compile(member, f"{path}/{key}") for key, member in value.items()}
        return lambda origins: named({key: one(origins) for key, one in members.items()})
    if isinstance(value, list):
        parts = [_compile(one, f"{path}/{index}") for index, one in enumerate(value)]
        return lambda origins: listed([one(origins) for one in parts])
    return _constant(value)


def _constant(value: Json) -> Resolve:
    found = Traced(value)
    return lambda _origins: found


@lru_cache(maxsize=2048)
def _compile_text(text: str, path: str) -> Resolve:
    variables = find_variables(text) if OPEN in text else []
    if not variables:
        return _constant(unescape(text))
    own = own_query(path, "request.object")
    queries = [own if variable.query == "@" else variable.query for variable in variables]
    if is_whole(variables, text):
        return lambda origins: origins.query(queries[0])
    first, *literals = split_text(text, variables)

    def fill(origins: Origins) -> Traced:
        found = [origins.query(query) for query in queries]
        parts = [first]
        for each, literal in zip(found, literals, strict=True):
            value = each.value
            parts += (value if isinstance(value, str) else embedded_json(value), literal)
        # What variables gave may be variables again.
        again = _compile_text.__wrapped__("".join(parts), path)
        return again(origins).chosen_by(*found)

    return fill


class _Lazy(Mapping[str, Traced]):
    """The members of an object, each of which is looked for when it is asked for."""

    __slots__ = ("_find", "_members")

    def __init__(
        self, members: Callable[[], Mapping[str, Json]], find: Callable[[str], Traced | None]
    ) -> None:
        self._members = members
        self._find = find

    def __getitem__(self, name: str) -> Traced:
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())


def _request_parts(request: Body, judged: str) -> _Lazy:
    """Return the fields of a request; judged: the one that has the object."""

    @cache
    def find(name: str) -> Traced | None:
        if name not in request:
            return None
        path: FieldPath | None = () if name == judged else None
        if name == "namespace" and request[name] and judged in request:
            path = _NAMESPACE
        return Traced(request[name], path)

    return _Lazy(lambda: request, find)


_NAMESPACE: Final = ("metadata", "namespace")


def _entry(loader: Loader, origins: Origins) -> Traced:
    if isinstance(loader, ImagesLoader):
        images = loader.fetch(None)
        if not isinstance(images, dict):
            return Traced(None)
        return named({kind: named(_by_container(found)) for kind, found in images.items()})
    from chartkit.engine.context.entries.loader import EntryLoader, VariableLoader

    if isinstance(loader, VariableLoader):
        return _variable_entry(loader, origins)
    found = Traced(origins.context.data.get(loader.name))
    return found.chosen_by(*_read(loader, origins)) if isinstance(loader, EntryLoader) else found


def _variable_entry(loader: VariableLoader, origins: Origins) -> Traced:
    from chartkit.engine.jmespath.tracing import MissingFieldError, compile_trace

    path = origins.resolve(loader.text("jmesPath"))
    value, default = loader.body.get("value"), loader.body.get("default")
    found = Traced(None) if value is None else origins.resolve(value)
    if path.value:
        try:
            if value is None:
                found = origins.query(path.value)
            else:
                found = compile_trace(path.value)(found, origins.budget)
        except MissingFieldError as error:
            found = made(None, error.place)
        except JMESPathError:
            found = made(None, found)
    if found.value is None and default is not None:
        found = origins.resolve(default).chosen_by(found)
    return found.chosen_by(path) if path.reads else found


def _read(loader: EntryLoader, origins: Origins) -> Iterator[Traced]:
    """Yield what a question to the world is made of."""
    for value in loader.body.values():
        try:
            found = origins.resolve(value)
        except EvaluationError:
            continue
        if found.fields():
            yield found


def _by_container(images: Mapping[str, Json]) -> dict[str, Traced]:
    found = {}
    for name, image in images.items():
        steps = pointer_steps(image["jsonPointer"])
        place = Traced(None, tuple(map(path_step, steps)))
        parts = {key: made(value, place) for key, value in image.items()}
        found[name] = Traced(image, None, (place,), (), parts)
    return found


def origins_of(context: Context, judged: Json) -> Origins:
    """Return the origins of a rule's context; judged: the object."""
    budget = Budget()
    budget.steps = budget.whole = _MOST_STEPS
    return Origins(context, Traced(judged, ()), budget, {}, {})


def pointers(paths: Iterable[FieldPath]) -> tuple[str, ...]:
    """Return fields as JSON pointers; the object as a whole is none."""
    return tuple(filter(None, map(_pointer, dict.fromkeys(paths))))[:MOST_FIELDS]


@lru_cache(maxsize=4096)
def _pointer(path: FieldPath) -> str:
    return pointer_of(*(path[:-1] if path[-1:] == (ANY_KEY,) else path))
