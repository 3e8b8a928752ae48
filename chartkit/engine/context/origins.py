"""The origins of what expressions see: the fields of the object, through variables, context
entries and the elements of loops.

They are looked for where a rule refused an object, to tell which fields that was about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.context.context import Context, ImagesLoader, Loader
from chartkit.engine.context.entries.loader import EntryLoader
from chartkit.engine.context.entries.variable import VariableLoader
from chartkit.engine.context.variables.syntax import (
    OPEN,
    Variable,
    find_variables,
    is_whole,
    own_query,
    resolve_references,
    split_text,
    unescape,
)
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.traced import ANY_KEY, Path, Traced, listed, made, named, some
from chartkit.engine.jmespath.tracing import MissingFieldError, trace
from chartkit.errors import EvaluationError
from chartkit.go.fmt import embedded_json
from chartkit.model import Json, pointer_of, pointer_steps

_MOST_STEPS: Final = 100_000
"""The most steps of looking for the fields of one failure: some tenths of a second."""
_MOST_PASSES: Final = 8
"""The most searches of a text for variables that name each other."""


@dataclass(frozen=True, slots=True)
class Origins:
    """The names that expressions see in a context, with the fields that they come from.

    judged: what patterns look at, the object or an element; elements: the names of loops; entries:
    the number of context entries that are seen, None for all; known: the entries looked at before.
    """

    context: Context
    judged: Traced
    budget: Budget
    elements: Mapping[str, Traced] = field(default_factory=dict)
    entries: int | None = None
    known: dict[int, Traced] = field(default_factory=dict)

    def inside(self, context: Context, judged: Traced, elements: Mapping[str, Traced]) -> Origins:
        """Return the origins inside a loop."""
        return Origins(context, judged, self.budget, {**self.elements, **elements})

    def query(self, text: str) -> Traced:
        """Return the result of an expression with its fields; raises `EvaluationError`."""
        if self.context.is_delete:
            text = text.replace("request.object", "request.oldObject")
        return trace(text, Traced(self.context.data, parts=_Names(self)), self.budget)

    def resolve(self, value: Json, path: str = "") -> Traced:
        """Return a value of a policy with its variables substituted, and the fields that these
        come from; raises `EvaluationError`."""
        return self._resolve(resolve_references(value), path)

    def _resolve(self, value: Json, path: str) -> Traced:
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            members = {key: self._resolve(member, f"{path}/{key}") for key, member in value.items()}
            return named(members)
        if isinstance(value, list):
            return listed([self._resolve(one, f"{path}/{i}") for i, one in enumerate(value)])
        return Traced(value)

    def _text(self, text: str, path: str) -> Traced:
        reads: tuple[Path, ...] = ()
        for _ in range(_MOST_PASSES):
            variables = find_variables(text) if OPEN in text else []
            if not variables:
                return Traced(unescape(text), None, reads)
            if is_whole(variables, text):
                return self._variable(variables[0], path).chosen_by(reads)
            filled = self._filled(text, variables, path)
            text, reads = filled.value, some((*reads, *filled.reads))
        return Traced(text, None, reads)

    def _filled(self, text: str, variables: list[Variable], path: str) -> Traced:
        literals = split_text(text, variables)
        found = [self._variable(one, path) for one in variables]
        parts = [literals[0]]
        for each, literal in zip(found, literals[1:], strict=True):
            value = each.value
            parts += (value if isinstance(value, str) else embedded_json(value), literal)
        return made("".join(parts), *found)

    def _variable(self, variable: Variable, path: str) -> Traced:
        query = variable.query
        return self.query(own_query(path, "request.object") if query == "@" else query)

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
        request = self.context.data.get("request") or {}
        parts = {key: Traced(value) for key, value in request.items()}
        judged = "oldObject" if self.context.is_delete else "object"
        if judged in parts:
            parts[judged] = Traced(parts[judged].value, ())
            if request.get("namespace"):
                parts["namespace"] = Traced(request["namespace"], ("metadata", "namespace"))
        return Traced(request, parts=parts)

    def _entry(self, loader: Loader, index: int) -> Traced:
        found = self.known.get(index)
        if found is None:
            earlier = replace(self, entries=index)
            found = self.known[index] = _entry(loader, earlier)
        name = loader.name
        if self.entries is None and found.value != self.context.data.get(name):
            return made(self.context.data.get(name), found)
        return found


class _Names(Mapping[str, Traced]):
    """The top-level names of expressions; each is looked for when it is asked for."""

    __slots__ = ("_origins",)

    def __init__(self, origins: Origins) -> None:
        self._origins = origins

    def __getitem__(self, name: str) -> Traced:
        found = self._origins.name(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._origins.context.data)

    def __len__(self) -> int:
        return len(self._origins.context.data)


def _entry(loader: Loader, origins: Origins) -> Traced:
    if isinstance(loader, ImagesLoader):
        return _images(loader.fetch(None))
    if isinstance(loader, VariableLoader):
        return _variable_entry(loader, origins)
    found = Traced(origins.context.data.get(loader.name))
    return found.chosen_by(_read(loader, origins)) if isinstance(loader, EntryLoader) else found


def _variable_entry(loader: VariableLoader, origins: Origins) -> Traced:
    path = origins.resolve(loader.text("jmesPath"))
    value, default = loader.body.get("value"), loader.body.get("default")
    found = Traced(None) if value is None else origins.resolve(value)
    if path.value:
        try:
            if value is None:
                found = origins.query(path.value)
            else:
                found = trace(path.value, found, origins.budget)
        except MissingFieldError as error:
            found = Traced(None, None, error.fields)
        except JMESPathError:
            found = made(None, found)
    if found.value is None and default is not None:
        found = origins.resolve(default).chosen_by(found.fields())
    return found.chosen_by(path.fields())


def _read(loader: EntryLoader, origins: Origins) -> Iterator[Path]:
    """Yield the fields that a question to the world names."""
    for value in loader.body.values():
        try:
            yield from origins.resolve(value).fields()
        except EvaluationError:
            continue


def _images(images: Json) -> Traced:
    if not isinstance(images, dict):
        return Traced(None)
    return named({kind: named(_by_container(found)) for kind, found in images.items()})


def _by_container(images: Mapping[str, Json]) -> dict[str, Traced]:
    found = {}
    for name, image in images.items():
        steps = pointer_steps(image["jsonPointer"])
        path = tuple(int(step) if step.isdigit() else step for step in steps)
        parts = {key: Traced(value, None, (path,)) for key, value in image.items()}
        found[name] = Traced(image, None, (path,), parts=parts)
    return found


def origins_of(context: Context, judged: Json) -> Origins:
    """Return the origins of a rule's context; judged: the object."""
    budget = Budget()
    budget.steps = budget.whole = _MOST_STEPS
    return Origins(context, Traced(judged, ()), budget)


def pointers(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return fields as JSON pointers; the object as a whole is none."""
    plain = (path[:-1] if path[-1:] == (ANY_KEY,) else path for path in paths)
    return tuple(pointer_of(*path) for path in some(filter(None, plain)))
