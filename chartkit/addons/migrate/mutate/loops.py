"""Loops of a `foreach`: the list, what holds of the elements that count, and what they are
called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import present_if
from chartkit.addons.migrate.expressions.verdict import conjunction, loop_variable
from chartkit.addons.migrate.jmespath import (
    Generator,
    Names,
    Stream,
    Value,
    stream_of,
)
from chartkit.addons.migrate.mutate.pointers import Counter, Step
from chartkit.addons.migrate.rule import with_entries
from chartkit.addons.migrate.texts import query_term
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.model import Body

_DESCENDING: Final = "Descending"
_INDEX: Final = "index"


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over a list.

    generator: its list, and what its elements must meet; item: the place of an element; names: what
    is known of an element; index: the name of its number; is_strict: whether it is an error where
    there is no list; is_whole: whether the numbers are those of the object's list.
    """

    generator: Generator
    item: Place
    names: Names
    index: str = _INDEX
    is_strict: bool = False
    is_whole: bool = True
    is_descending: bool = False

    @property
    def path(self) -> str:
        """Return the path of the list in the object, empty for one that is computed."""
        return self.generator.elements.path

    def tells_apart(self, step: Step) -> bool:
        """Report whether a part of a path is another one for each element: a key of an object."""
        if isinstance(step, str | Counter) or not self.generator.elements.is_map:
            return False
        return tree.count(step, cel.ident(self.generator.variable)) > 0

    @property
    def counter(self) -> Counter:
        """Return the number of an element."""
        return Counter(self.index, self.item, self.path if self.is_whole else "")

    @property
    def list(self) -> Expr:
        """Return the list."""
        elements = self.generator.elements
        is_plain = self.is_strict and not elements.may_be_null
        return elements.value if is_plain else self.generator.list

    def where(self, *tests: Expr) -> Loop:
        """Return the loop over those elements alone that meet tests."""
        where = conjunction(self.generator.where, *tests)
        return replace(self, generator=replace(self.generator, where=where))

    def mapped(self, body: Expr) -> Expr:
        """Return what a body gives for each element that counts."""
        where, variable = self.generator.where, self.generator.variable
        tests = [] if where == cel.TRUE else [where]
        if tree.count(body, cel.ident(self.index)):
            names = (cel.ident(self.index), cel.ident(variable))
            return cel.method(self.list, "transformList", *names, *tests, body)
        elements = self.list
        for test in tests:
            elements = cel.macro(elements, "filter", variable, test)
        return cel.macro(elements, "map", variable, body)


def some(loops: Sequence[Loop]) -> Expr:
    """Report whether there is an element of loops within each other; a list that is required has
    one."""
    if all(map(_is_never_empty, loops)):
        return cel.TRUE
    generators = tuple(loop.generator for loop in loops)
    return Stream(generators, loops[-1].item.settled()).exists(lambda _item: cel.TRUE)


def _is_never_empty(loop: Loop) -> bool:
    elements = loop.generator.elements
    return bool(loop.path) and not elements.is_optional and loop.generator.where == cel.TRUE


def loop_of(body: Body, names: Names, namespace: str, level: int = 0) -> Loop:
    """Return the loop of a foreach; raises `NotConvertible`.

    namespace: of a namespaced policy, empty for a ClusterPolicy; level: the number of loops around
    it.
    """
    elements = query_term(str(body.get("list") or "").strip(), names)
    stream = stream_of(elements, names)
    is_whole = stream.is_plain and not stream.generators[0].elements.is_map
    if len(stream.generators) > 1 or stream.item.value != cel.ident(stream.generators[0].variable):
        place = replace(stream.listed(), path="")
        generator = Generator(loop_variable(place, names.taken), place)
        stream = Stream((generator,), place.element(generator.variable))
    (generator,) = stream.generators
    is_strict = isinstance(elements, Value) and elements.strict
    index = f"{generator.variable}Index" if level else _INDEX
    loop = Loop(generator, stream.item, names, index, is_strict, is_whole)
    return _narrowed(loop, body, namespace, level)


def _narrowed(loop: Loop, body: Body, namespace: str, level: int) -> Loop:
    """Return a loop with the names of its elements, and its preconditions."""
    element, number = Value(loop.item), Value(Place(cel.ident(loop.index), (), "int"))
    named = {"element": element, "elementIndex": number}
    named |= {f"element{level}": element, f"elementIndex{level}": number}
    names = loop.names.without(loop.generator.variable).without(loop.index).with_others(**named)
    names = with_entries(body.get("context"), names, namespace)
    default = _DESCENDING if body.get("patchStrategicMerge") else ""
    loop = replace(loop, is_descending=body.get("order", default) == _DESCENDING)
    if body.get("preconditions") is not None:
        loop = loop.where(conditions_hold(body["preconditions"], names))
    present = names.known | present_if(loop.generator.where)
    return replace(loop, names=replace(names, known=present))
