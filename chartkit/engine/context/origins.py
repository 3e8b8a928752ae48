"""The origins of what expressions see: the fields of the object, through variables, context
entries and the elements of loops.

They are looked for where a rule refused an object, to tell which fields that was about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from chartkit.engine.budget import Budget
from chartkit.engine.context.context import Context
from chartkit.engine.jmespath.traced import ANY_KEY, MOST_FIELDS, Traced, made
from chartkit.model import FieldPath, Json, pointer_of

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
        request = {_REQUEST: self._request()}
        return Origins(context, judged, self.budget, {**self.elements, **elements}, request)

    def query(self, text: str) -> Traced:
        """Return the result of an expression with its fields; raises `EvaluationError`."""
        from chartkit.engine.context.traced_values import LazyParts

        if self.context.is_delete:
            text = text.replace("request.object", "request.oldObject")
        parts = LazyParts(lambda: self.context.data, self.name)
        names = Traced(self.context.data, parts=parts)
        from chartkit.engine.jmespath.tracing import compile_trace

        return compile_trace(text)(names, self.budget)

    def resolve(self, value: Json) -> Traced:
        """Return a value of a policy with its variables substituted, and the fields that these
        come from; raises `EvaluationError`."""
        from chartkit.engine.context.traced_values import compile_traced

        return compile_traced(value)(self)

    def name(self, name: str) -> Traced | None:
        """Return the value of a top-level name; None without one."""
        if name in self.elements:
            return self.elements[name]
        if name == "request":
            return self._request()
        loaders = self.context.loaders[: self.entries]
        for index in range(len(loaders) - 1, -1, -1):
            if loaders[index].name == name:
                loader = loaders[index]
                from chartkit.engine.context.traced_values import entry_value

                value = self.known.get(index)
                if value is None:
                    earlier = self._replace(entries=index)
                    value = self.known[index] = entry_value(loader, earlier)
                name = loader.name
                if self.entries is None and value.value != self.context.data.get(name):
                    return made(self.context.data.get(name), value)
                return value
        return Traced(self.context.data[name]) if name in self.context.data else None

    def _request(self) -> Traced:
        from chartkit.engine.context.traced_values import request_parts

        request_value = self.known.get(_REQUEST)
        if request_value is None:
            request = self.context.data.get("request") or {}
            judged = "oldObject" if self.context.is_delete else "object"
            parts = request_parts(request, judged)
            request_value = self.known[_REQUEST] = Traced(request, parts=parts)
        return request_value


def origins_of(context: Context, judged: Json) -> Origins:
    """Return the origins of a rule's context; judged: the object."""
    budget = Budget()
    budget.steps = budget.whole = _MOST_STEPS
    return Origins(context, Traced(judged, ()), budget, {}, {})


def pointers(paths: Iterable[FieldPath]) -> tuple[str, ...]:
    """Return fields as JSON pointers; the object as a whole has none."""
    return tuple(filter(None, map(_pointer, dict.fromkeys(paths))))[:MOST_FIELDS]


@lru_cache(maxsize=4096)
def _pointer(path: FieldPath) -> str:
    return pointer_of(*(path[:-1] if path[-1:] == (ANY_KEY,) else path))
