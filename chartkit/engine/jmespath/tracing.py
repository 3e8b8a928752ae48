"""Expressions searched once more with values that know where they come from.

A search that decided against an object is repeated here, node by node, to tell the fields of the
object that it read. It is slower than the compiled form and gives the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.compiler import ORDER, is_false, keeps_null
from chartkit.engine.jmespath.declaration import deep_equal, is_number, to_json
from chartkit.engine.jmespath.errors import CrashError, JMESPathError, NotFoundError
from chartkit.engine.jmespath.lexer import Comparator
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.engine.jmespath.traced import Path, Traced, listed, named, some
from chartkit.engine.jmespath.traced_calls import Argument, call
from chartkit.model import Json

_TRACE: Final = "the fields that an expression reads"

_parsed = lru_cache(maxsize=1024)(parse)


class MissingFieldError(NotFoundError):
    """A key that an object does not have; fields: where it would be."""

    def __init__(self, key: str, fields: tuple[Path, ...]) -> None:
        super().__init__(key)
        self.fields = fields


def trace(text: str, data: Traced, budget: Budget) -> Traced:
    """Return the result of an expression with the fields that it comes from; raises
    `JMESPathError` where the search fails, and `BudgetError`."""
    try:
        found = _trace(_parsed(text), data, budget, True)
    except RecursionError:
        raise JMESPathError("the value nests too deeply") from None
    return Traced(to_json(found.value), found.path, found.reads, found.lost, found.parts)


_Trace = Callable[[Node, Traced, Budget, bool], Traced]


def _trace(node: Node, here: Traced, budget: Budget, strict: bool = False) -> Traced:
    budget.spend(1, _TRACE)
    return _TRACES[node.kind](node, here, budget, strict)


def _field(node: Node, here: Traced, _budget: Budget, strict: bool) -> Traced:
    found = here.member(node.value)
    if strict and isinstance(here.value, dict) and node.value not in here.value:
        raise MissingFieldError(node.value, found.fields())
    return found


def _subexpression(node: Node, here: Traced, budget: Budget, strict: bool) -> Traced:
    if strict or keeps_null(node.children[1]):
        return _chain(node, here, budget, strict)
    try:
        return _chain(node, here, budget, True)
    except MissingFieldError as error:
        return Traced(None, None, error.fields)


def _chain(node: Node, here: Traced, budget: Budget, strict: bool) -> Traced:
    left, right = node.children
    return _trace(right, _trace(left, here, budget, strict), budget, strict)


def _pipe(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    return _chain(node, here, budget, False)


def _index(node: Node, here: Traced, _budget: Budget, _strict: bool) -> Traced:
    index: int = node.value
    size = len(here.value) if isinstance(here.value, list) else 0
    if -size <= index < size:
        return here.member(index % size)
    path = None if here.path is None else (*here.path, max(index, 0))
    return Traced(None, path, here.reads, here.lost)


def _slice(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    if not isinstance(here.value, list):
        return Traced(None, here.path, here.reads, here.lost)
    members = here.members()
    budget.spend(len(members), _TRACE)
    return listed(members[slice(*node.value)], _left(here))


def _left(source: Traced) -> tuple[Path, ...]:
    """Return the fields for which there is no more in a list."""
    if source.lost:
        return source.lost
    return source.fields() if not source.value else ()


def _projection(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    source = _trace(node.children[0], here, budget)
    return _projected(source, source.members(), node.children[1], budget)


def _projected(source: Traced, members: list[Traced], right: Node, budget: Budget) -> Traced:
    if not isinstance(source.value, list | dict):
        return Traced(None, source.path, source.reads, source.lost)
    parts: list[Traced] = []
    lost = [*_left(source)]
    for member in members:
        found = _trace(right, member, budget)
        if found.value is None:
            lost += found.fields()
        else:
            parts.append(found)
    return listed(parts, lost)


def _filter(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    source = _quiet(node.children[0], here, budget)
    if not isinstance(source.value, list):
        return Traced(None, source.path, source.reads, source.lost)
    parts: list[Traced] = []
    lost = [*_left(source)]
    for member in source.members():
        holds = _trace(node.children[2], member, budget)
        found = None if is_false(holds.value) else _trace(node.children[1], member, budget)
        if found is None or found.value is None:
            lost += (holds if found is None else found).fields()
        else:
            parts.append(found.chosen_by(holds.fields()))
    return listed(parts, lost)


def _flatten(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    source = _quiet(node.children[0], here, budget)
    if not isinstance(source.value, list):
        return Traced(None, source.path, source.reads, source.lost)
    parts: list[Traced] = []
    lost = [*_left(source)]
    for member in source.members():
        if isinstance(member.value, list):
            budget.spend(len(member.value), _TRACE)
            parts += member.members()
            lost += _left(member)
        else:
            parts.append(member)
    return listed(parts, lost)


def _value_projection(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    source = _quiet(node.children[0], here, budget)
    if not isinstance(source.value, dict):
        return Traced(None, source.path, source.reads, source.lost)
    members = [member for _, member in source.items()]
    if not keeps_null(node.children[1]):
        members = [Traced(None)] * len(members) + members
    return _projected(source, members, node.children[1], budget)


def _quiet(node: Node, here: Traced, budget: Budget) -> Traced:
    try:
        return _trace(node, here, budget)
    except CrashError:
        raise
    except MissingFieldError as error:
        return Traced(None, None, error.fields)
    except JMESPathError:
        return Traced(None)


def _comparator(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    left, right = (_trace(child, here, budget) for child in node.children)
    return Traced(_compared(node.value, left.value, right.value, budget), None, both(left, right))


def both(left: Traced, right: Traced) -> tuple[Path, ...]:
    """Return the fields of two values that are compared: of a number that is smaller than the
    other, what it lacks comes first."""
    below = above = False
    if is_number(left.value) and is_number(right.value):
        below, above = left.value < right.value, left.value > right.value
    return some((*left.fields(lacks=below), *right.fields(lacks=above)))


def _compared(comparator: Comparator, left: Json, right: Json, budget: Budget) -> bool | None:
    if comparator in (Comparator.EQ, Comparator.NE):
        return deep_equal(left, right, budget) is (comparator is Comparator.EQ)
    if is_number(left) and is_number(right):
        return ORDER[comparator](float(left), float(right))
    return None


def _or(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    left = _trace(node.children[0], here, budget)
    if not is_false(left.value):
        return left
    right = _trace(node.children[1], here, budget)
    if not is_false(right.value) or not left.fields():
        return right.chosen_by(left.fields())
    # Neither is true, and either could be: the first that is asked for comes first.
    return Traced(right.value, left.path, some((*left.reads, *right.fields())), left.lost)


def _and(node: Node, here: Traced, budget: Budget, strict: bool) -> Traced:
    left = _trace(node.children[0], here, budget)
    if is_false(left.value):
        return _without_hope(left, node.children[1], budget)
    right = _trace(node.children[1], here, budget, strict)
    if is_false(right.value) and not right.fields():
        return right
    return right.chosen_by(left.fields())


def _without_hope(value: Traced, other: Node, budget: Budget) -> Traced:
    """Return what is false, without its fields where no field makes the other side of `&&` true."""
    if _is_constant(other) and is_false(_trace(other, Traced(None), budget).value):
        return Traced(value.value)
    return value


def _is_constant(node: Node) -> bool:
    if node.kind in (Kind.FUNCTION_EXPRESSION, Kind.COMPARATOR, Kind.NOT_EXPRESSION):
        return bool(node.children) and all(map(_is_constant, node.children))
    return node.kind is Kind.LITERAL


def _not(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    operand = _trace(node.children[0], here, budget)
    return Traced(is_false(operand.value), None, operand.fields())


def _multi_select_list(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    if here.value is None:
        return here
    return listed([_trace(child, here, budget) for child in node.children])


def _multi_select_dict(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    if here.value is None:
        return here
    return named({child.value: _trace(child.children[0], here, budget) for child in node.children})


def _function(node: Node, here: Traced, budget: Budget, _strict: bool) -> Traced:
    arguments = [_argument(child, here, budget) for child in node.children]
    return call(node.value, arguments, budget)


def _argument(node: Node, here: Traced, budget: Budget) -> Argument:
    if node.kind is not Kind.EXPREF:
        return Argument(_trace(node, here, budget))
    child = node.children[0]

    def apply(member: Traced) -> Traced:
        try:
            return _trace(child, member, budget, True)
        except MissingFieldError as error:
            return Traced(None, None, error.fields)

    return Argument(Traced(None), node, apply)


def _empty(_node: Node, _here: Traced, _budget: Budget, _strict: bool) -> Traced:
    raise JMESPathError("Unknown AST node: ASTEmpty")


_TRACES: Final[dict[Kind, _Trace]] = {
    Kind.EMPTY: _empty,
    Kind.COMPARATOR: _comparator,
    Kind.CURRENT: lambda _node, here, _budget, _strict: here,
    Kind.FUNCTION_EXPRESSION: _function,
    Kind.EXPREF: lambda node, here, budget, _: _argument(node, here, budget).traced,
    Kind.FIELD: _field,
    Kind.FILTER_PROJECTION: _filter,
    Kind.FLATTEN: _flatten,
    Kind.IDENTITY: lambda _node, here, _budget, _strict: here,
    Kind.INDEX: _index,
    Kind.INDEX_EXPRESSION: _chain,
    Kind.LITERAL: lambda node, _here, _budget, _strict: Traced(node.value),
    Kind.MULTI_SELECT_DICT: _multi_select_dict,
    Kind.MULTI_SELECT_LIST: _multi_select_list,
    Kind.OR_EXPRESSION: _or,
    Kind.AND_EXPRESSION: _and,
    Kind.NOT_EXPRESSION: _not,
    Kind.PIPE: _pipe,
    Kind.PROJECTION: _projection,
    Kind.SUBEXPRESSION: _subexpression,
    Kind.SLICE: _slice,
    Kind.VALUE_PROJECTION: _value_projection,
}
