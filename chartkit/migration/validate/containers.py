"""The lists of containers of a Pod, judged by one loop where a rule says the same of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Call, Chain, Ident, Select, replaced
from chartkit.migration.rule import Variable

_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_NAME: Final = "allContainers"
_VARIABLE: Final = "container"


@dataclass(frozen=True, slots=True)
class _Loop:
    """A fact about every container of a list.

    body: its variable named the same in all; list: the list's field.
    """

    fact: Expr
    target: Expr
    list: str
    body: Expr


def one_loop_for_all_containers(expression: Expr) -> tuple[list[Expr], tuple[Variable, ...]]:
    """Return the facts of a conjunction, loops over lists of containers with equal bodies as one
    over all of them, and the variable that this takes."""
    match expression:
        case Chain("&&", terms):
            facts = list(terms)
        case _:
            facts = [expression]
    by_body: dict[Expr, list[_Loop]] = {}
    for loop in filter(None, map(_loop, facts)):
        by_body.setdefault(loop.body, []).append(loop)
    repeated = [(body, loops) for body, loops in by_body.items() if len(loops) > 1]
    if len(repeated) != 1:
        return facts, ()
    ((body, loops),) = repeated
    first, *others = sorted(loops, key=lambda each: _LISTS.index(each.list))
    total = first.target
    for other in others:
        total = cel.compare("+", total, other.target)
    every = cel.macro(cel.variable(_NAME), "all", _VARIABLE, body)
    merged = [loop.fact for loop in loops]
    at = min(map(facts.index, merged))
    kept = [each for each in facts if each not in merged]
    return [*kept[:at], every, *kept[at:]], (Variable(_NAME, total),)


def _loop(fact: Expr) -> _Loop | None:
    match fact:
        case Call("all", Call() | Select() as target, (variable, body)):
            name = _field(target)
            if name in _LISTS:
                return _Loop(fact, target, name, replaced(body, variable, Ident(_VARIABLE)))
    return None


def _field(target: Expr) -> str:
    """Return the field that a list is read from, through `orValue`."""
    if isinstance(target, Call) and target.function == "orValue" and target.target is not None:
        target = target.target
    return target.field if isinstance(target, Select) else ""
