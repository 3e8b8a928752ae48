"""The lists of containers of a Pod, judged by one loop where a rule says the same of each."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Call, Chain, Ident, Select, children, transform
from chartkit.migration.rule import Variable

_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_NAME: Final = "allContainers"
_VARIABLE: Final = "container"


def one_loop_for_all_containers(expression: Expr) -> tuple[list[Expr], tuple[Variable, ...]]:
    """Return the facts of a conjunction, loops over lists of containers with equal bodies as one
    over all of them, and the variable that this takes."""
    match expression:
        case Chain("&&", terms):
            facts = list(terms)
        case _:
            facts = [expression]
    loops = [each for each in facts if _list_of(each) is not None]
    by_body: dict[Expr, list[Expr]] = {}
    for loop in loops:
        by_body.setdefault(_body(loop), []).append(loop)
    merged = [(body, group) for body, group in by_body.items() if len(group) > 1]
    if len(merged) != 1:
        return facts, ()
    body, group = merged[0]
    targets = sorted((_target(each) for each in group), key=lambda each: _LISTS.index(_field(each)))
    total = targets[0]
    for each in targets[1:]:
        total = cel.compare("+", total, each)
    loop = cel.macro(cel.variable(_NAME), "all", _VARIABLE, body)
    at = min(facts.index(each) for each in group)
    kept = [each for each in facts if each not in group]
    return [*kept[:at], loop, *kept[at:]], (Variable(_NAME, total),)


def _list_of(fact: Expr) -> str | None:
    if not isinstance(fact, Call) or fact.function != "all" or len(fact.args) != 2:
        return None
    name = _field(_target(fact))
    return name if name in _LISTS else None


def _target(loop: Expr) -> Expr:
    assert isinstance(loop, Call)
    assert loop.target is not None
    return loop.target


def _field(target: Expr) -> str:
    """Return the field that a list is read from, through `orValue`."""
    if isinstance(target, Call) and target.function == "orValue" and target.target is not None:
        target = target.target
    return target.field if isinstance(target, Select) else ""


def _body(loop: Expr) -> Expr:
    """Return the body of a loop, its variable named the same in all."""
    assert isinstance(loop, Call)
    variable, body = loop.args
    return _renamed(body, variable)


def _renamed(expr: Expr, variable: Expr) -> Expr:
    if expr == variable:
        return Ident(_VARIABLE)
    return transform(expr, lambda part: _renamed(part, variable)) if children(expr) else expr
