"""Paths of JSON patches, with the numbers of elements of loops and other variables in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.verdict import is_name
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.texts import text_expression
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Binary, Call, Index, Literal, Select
from chartkit.engine.context.variables import has_variable
from chartkit.engine.json_patch import decode
from chartkit.model import pointer_of

END: Final = "-"
LAST: Final = "-1"
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
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
    raise NotConvertible("a path of a patch with a variable that may hold a / or a ~")


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
    return isinstance(step, str) and _INDEX.fullmatch(step) is not None


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
