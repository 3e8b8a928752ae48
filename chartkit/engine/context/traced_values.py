"""What variables and context entries give, with the fields of the object that it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from chartkit.engine.context.context import ImagesLoader, Loader
from chartkit.engine.context.origins import Origins
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
from chartkit.engine.jmespath.traced import Traced, listed, made, named
from chartkit.errors import EvaluationError
from chartkit.go.fmt import embedded_json
from chartkit.model import Body, FieldPath, Json, path_step, pointer_steps

if TYPE_CHECKING:
    from chartkit.engine.context.entries.loader import EntryLoader, VariableLoader


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


class LazyParts(Mapping[str, Traced]):
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


def request_parts(request: Body, judged: str) -> LazyParts:
    """Return the fields of a request; judged: the one that has the object."""

    @cache
    def find(name: str) -> Traced | None:
        if name not in request:
            return None
        path: FieldPath | None = () if name == judged else None
        if name == "namespace" and request[name] and judged in request:
            path = _NAMESPACE
        return Traced(request[name], path)

    return LazyParts(lambda: request, find)


_NAMESPACE: Final = ("metadata", "namespace")


def entry_value(loader: Loader, origins: Origins) -> Traced:
    """Return what a context entry gives."""
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
