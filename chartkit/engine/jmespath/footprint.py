"""The part of an object that an expression reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chartkit.engine.footprint import NOTHING_READ, UnboundedError, Values
from chartkit.engine.jmespath.lexer import Comparator
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse

_EQUALITIES: Final = frozenset({Comparator.EQ, Comparator.NE})
_UNREPEATABLE: Final = ("time_", "random", "is_external_url")
"""The beginnings of functions that may give something else the next time."""


def read_expression(text: str, current: Values) -> Values:
    """Note what an expression reads, and return what its value may be; current: its input.

    Raise `UnboundedError`, and `JMESPathError` for what is no expression.
    """
    return _read(parse(text), current)


def _read(node: Node, current: Values) -> Values:
    reader = _READERS.get(node.kind)
    if reader is None:
        raise UnboundedError(node.kind.name)
    return reader(node, current)


def _chain(node: Node, current: Values) -> Values:
    left, right = node.children
    return _read(right, _read(left, current))


def _projection(node: Node, current: Values) -> Values:
    left, right = node.children
    return _read(right, _read(left, current).element()).listed()


def _filter(node: Node, current: Values) -> Values:
    left, right, condition = node.children
    elements = _read(left, current).element()
    _read(condition, elements).read()
    return _read(right, elements).listed()


def _value_projection(node: Node, current: Values) -> Values:
    left, right = node.children
    return _read(right, _read(left, current).read()).read()


def _comparison(node: Node, current: Values) -> Values:
    sides = [(each, _read(each, current)) for each in node.children]
    is_null = any(each.kind is Kind.LITERAL and each.value is None for each, _ in sides)
    if not (is_null and node.value in _EQUALITIES):
        for _, values in sides:
            values.read()
    return NOTHING_READ


def _choice(node: Node, current: Values) -> Values:
    left, right = (_read(each, current) for each in node.children)
    left.size()
    return left.joined(right)


def _list(node: Node, current: Values) -> Values:
    return NOTHING_READ.joined(*(_read(each, current).listed() for each in node.children))


def _object(node: Node, current: Values) -> Values:
    for each in node.children:
        _read(each.children[0], current).read()
    return NOTHING_READ


def _function(node: Node, current: Values) -> Values:
    if node.value.startswith(_UNREPEATABLE):
        raise UnboundedError(node.value)
    for each in node.children:
        if each.kind is Kind.EXPREF:
            # It is about elements of another argument, all of which is read.
            _read(each.children[0], NOTHING_READ).read()
        elif node.value == "length":
            _read(each, current).size()
        else:
            _read(each, current).read()
    return NOTHING_READ


_READERS: Final[dict[Kind, Callable[[Node, Values], Values]]] = {
    Kind.AND_EXPRESSION: _choice,
    Kind.COMPARATOR: _comparison,
    Kind.CURRENT: lambda _, current: current,
    Kind.FIELD: lambda node, current: current.member(node.value),
    Kind.FILTER_PROJECTION: _filter,
    Kind.FLATTEN: lambda node, current: _read(node.children[0], current).flattened(),
    Kind.FUNCTION_EXPRESSION: _function,
    Kind.IDENTITY: lambda _, current: current,
    Kind.INDEX: lambda _, current: current.element(),
    Kind.INDEX_EXPRESSION: _chain,
    Kind.LITERAL: lambda _, __: NOTHING_READ,
    Kind.MULTI_SELECT_DICT: _object,
    Kind.MULTI_SELECT_LIST: _list,
    Kind.NOT_EXPRESSION: lambda node, current: _read(node.children[0], current).size(),
    Kind.OR_EXPRESSION: _choice,
    Kind.PIPE: _chain,
    Kind.PROJECTION: _projection,
    Kind.SLICE: lambda _, current: current.element().listed(),
    Kind.SUBEXPRESSION: _chain,
    Kind.VALUE_PROJECTION: _value_projection,
}
