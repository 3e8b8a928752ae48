"""Names that generated expressions give to what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chartkit.addons.migrate.expressions.place import Place
from chartkit.engine.cel.parser.parser import RESERVED
from chartkit.engine.cel.syntax.tree import Binary, Call, Expr, Select

_SINGULAR: Final = {"ies": "y", "sses": "ss", "xes": "x", "s": ""}
_NAMES: Final = frozenset(
    ("name", "namespace", "uid", "kind", "nodeName", "serviceAccountName", "Name", "Namespace")
)


def loop_variable(place: Place, taken: Iterable[str]) -> str:
    """Return the name of a loop's variable: the list's field in the singular; `item`
    where that is no name of CEL."""
    steps = [step for step in place.optional if isinstance(step, str)]
    name = steps[-1] if steps else _field_of(place.root)
    for ending, singular in _SINGULAR.items():
        if name.endswith(ending) and name != ending:
            name = name.removesuffix(ending) + singular
            break
    else:
        name = "item"
    if not name.isidentifier() or name in RESERVED:
        name = "item"
    taken = frozenset(taken)
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def names_several(place: Place) -> bool:
    """Return whether a place's last field is named as lists are."""
    steps = [step for step in place.optional if isinstance(step, str)]
    name = steps[-1] if steps else _field_of(place.root)
    return name.endswith("s") and not name.endswith("ss")


def is_name(place: Place) -> bool:
    """Return whether a place holds the name of an object, which has no wildcards."""
    steps = [step for step in place.optional if isinstance(step, str)]
    return (steps[-1] if steps else _field_of(place.root)) in _NAMES


def _field_of(expr: Expr) -> str:
    while True:
        match expr:
            case Call(_, Call() | Select() | Binary() as inner) | Binary("+", inner):
                expr = inner
            case _:
                break
    return expr.field if isinstance(expr, Select) else "item"
