"""Loops of a `foreach`, and the paths of JSON patches, which may have the numbers of their elements
and other variables in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import present_if
from chartkit.addons.migrate.expressions.verdict import conjunction, is_name, loop_variable
from chartkit.addons.migrate.jmespath import (
    Generator,
    Names,
    Stream,
    Value,
    stream_of,
)
from chartkit.addons.migrate.rule import with_entries
from chartkit.addons.migrate.texts import query_term, text_expression
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.engine.cel.syntax.tree import Binary, Call, Index, Literal, Select
from chartkit.engine.context.variables import has_variable
from chartkit.engine.json_patch import decode
from chartkit.model import Body, pointer_of

_DESCENDING: Final = "Descending"
_INDEX: Final = "index"
FIRST: Final = "0"
END: Final = "-"
LAST: Final = "-1"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]*")
_COUNTER: Final = re.compile(r"\{\{\s*elementIndex(\d*)\s*\}\}")
_DELIMITER: Final = re.compile(r"(\{\{|\}\}|/)")


@dataclass(frozen=True, slots=True)
class Counter:
    """The number of a loop's element in its list.

    variable: the name of the number; item: the place of an element; listed: the path of the list
    in the object, empty for one that is computed.
    """

    variable: str
    item: Place
    listed: str

    def element(self, path: Path, place: Place) -> Place:
        """Return the place of the element; raises `NotConvertible` where the list at a path is
        another."""
        if not self.listed or place.path != self.listed:
            raise NotConvertible(f"elements of {shown(path)} by the numbers of another list")
        return self.item


Step: TypeAlias = str | Counter | Expr
"""A part of a path: a name, the number of an element, or a name that is computed."""
Path: TypeAlias = tuple[Step, ...]


def steps_of(path: str, counters: Sequence[Counter], names: Names) -> Path:
    """Return the parts of a path; counters: of the loops around it, the outermost first.

    Raises `NotConvertible`.
    """
    if not path.startswith("/"):
        raise NotConvertible("a path of a patch that begins with a variable, or is empty")
    return tuple(_step(part, counters, names) for part in _parts(path))


def _parts(path: str) -> list[str]:
    """Return the texts between the slashes of a path that are in no variable."""
    parts, depth = [""], 0
    for piece in _DELIMITER.split(path):
        depth += {"{{": 1, "}}": -1}.get(piece, 0)
        if piece == "/" and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts[1:]


def _step(part: str, counters: Sequence[Counter], names: Names) -> Step:
    number = _COUNTER.fullmatch(part)
    if number is not None:
        level = int(number[1]) if number[1] else len(counters) - 1
        if not 0 <= level < len(counters):
            raise NotConvertible(f"{part} outside of a foreach")
        return counters[level]
    if not has_variable(part):
        return decode(part)
    return _key(text_expression(part, names))


def _key(text: Expr) -> Expr:
    """Return the key that a part of a path names; raises `NotConvertible` for one that may be
    several parts, or be escaped."""
    match text:
        case Literal(str() as value):
            return cel.literal(decode(value))
        case Binary("+", left, right):
            return cel.concat(_key(left), _key(right))
        case Call("replace", value, (Literal("/"), Literal("~1"))) if value is not None:
            return value
        case Select() | Index() if is_name(Place(text)):
            return text
        case Call("string"):
            return text
    raise NotConvertible(
        "a path of a patch with a variable that may hold a / or a ~: write "
        "{{ replace_all(…, '/', '~1') }}"
    )


def _pointer(key: Expr) -> list[Expr]:
    """Return the parts of a key that is computed as a path has them."""
    match key:
        case Literal(str() as value):
            return [cel.literal(pointer_of(value).removeprefix("/"))]
        case Binary("+", left, right):
            return [*_pointer(left), *_pointer(right)]
        case Select() | Index() if is_name(Place(key)):
            return [key]
        case Call("string"):
            return [key]
    return [cel.method(cel.ident("jsonpatch"), "escapeKey", key)]


def is_index(step: Step) -> bool:
    """Report whether a step is the number of an element, as it is written."""
    return isinstance(step, str) and _NUMBER.fullmatch(step) is not None


def joined(path: Path) -> Expr:
    """Return a path as a patch names it."""
    parts: list[str | Expr] = []
    for step in path:
        match step:
            case str():
                parts.append(pointer_of(step))
            case Counter():
                parts += ("/", cel.call("string", cel.ident(step.variable)))
            case _:
                parts += ("/", *_pointer(step))
    return cel.concat(*parts)


def shown(path: Path) -> str:
    """Return a path as a reason names it."""
    return "".join(pointer_of(step) if isinstance(step, str) else "/*" for step in path)


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
    element, number = Value(stream.item), Value(Place(cel.ident(index), (), "int"))
    named = {"element": element, "elementIndex": number}
    named |= {f"element{level}": element, f"elementIndex{level}": number}
    names = names.without(generator.variable).without(index).with_others(**named)
    names = with_entries(body.get("context"), names, namespace)
    default = _DESCENDING if body.get("patchStrategicMerge") else ""
    is_descending = body.get("order", default) == _DESCENDING
    loop = Loop(generator, stream.item, names, index, is_strict, is_whole, is_descending)
    if body.get("preconditions") is not None:
        loop = loop.where(conditions_hold(body["preconditions"], names))
    present = names.known | present_if(loop.generator.where)
    return replace(loop, names=replace(names, known=present))
