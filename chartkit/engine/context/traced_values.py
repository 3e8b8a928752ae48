"""Values of variables and context entries, with the fields of the object that they come from."""

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
    from chartkit.engine.context.entries.loader import EntryLoader


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
        return lambda origins: named({key: resolve(origins) for key, resolve in members.items()})
    if isinstance(value, list):
        parts = [_compile(element, f"{path}/{index}") for index, element in enumerate(value)]
        return lambda origins: listed([part(origins) for part in parts])
    return _constant(value)


def _constant(value: Json) -> Resolve:
    traced = Traced(value)
    return lambda _origins: traced


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
        values = [origins.query(query) for query in queries]
        parts = [first]
        for answer, literal in zip(values, literals, strict=True):
            value = answer.value
            parts += (value if isinstance(value, str) else embedded_json(value), literal)
        # What variables gave may be variables again.
        again = _compile_text.__wrapped__("".join(parts), path)
        return again(origins).chosen_by(*values)

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
        part = self._find(name)
        if part is None:
            raise KeyError(name)
        return part

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
    """Return the value of a context entry."""
    if isinstance(loader, ImagesLoader):
        images = loader.fetch(None)
        if not isinstance(images, dict):
            return Traced(None)
        return named({kind: named(_by_container(group)) for kind, group in images.items()})
    from chartkit.engine.context.entries.loader import EntryLoader, VariableLoader

    if isinstance(loader, VariableLoader):
        from chartkit.engine.jmespath.tracing import MissingFieldError, compile_trace

        path = origins.resolve(loader.text("jmesPath"))
        value, default = loader.body.get("value"), loader.body.get("default")
        traced = Traced(None) if value is None else origins.resolve(value)
        if path.value:
            try:
                if value is None:
                    traced = origins.query(path.value)
                else:
                    traced = compile_trace(path.value)(traced, origins.budget)
            except MissingFieldError as error:
                traced = made(None, error.place)
            except JMESPathError:
                traced = made(None, traced)
        if traced.value is None and default is not None:
            traced = origins.resolve(default).chosen_by(traced)
        return traced.chosen_by(path) if path.reads else traced
    traced = Traced(origins.context.data.get(loader.name))
    return traced.chosen_by(*_read(loader, origins)) if isinstance(loader, EntryLoader) else traced


def _read(loader: EntryLoader, origins: Origins) -> Iterator[Traced]:
    """Yield the values that a query to the world depends on."""
    for value in loader.body.values():
        try:
            traced = origins.resolve(value)
        except EvaluationError:
            continue
        if traced.fields():
            yield traced


def _by_container(images: Mapping[str, Json]) -> dict[str, Traced]:
    traced = {}
    for name, image in images.items():
        steps = pointer_steps(image["jsonPointer"])
        field = Traced(None, tuple(map(path_step, steps)))
        parts = {key: made(value, field) for key, value in image.items()}
        traced[name] = Traced(image, None, (field,), (), parts)
    return traced
