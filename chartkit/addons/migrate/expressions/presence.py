"""Fields that are there where a test holds: what is asked behind it reads them plainly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import (
    Binary,
    Call,
    Chain,
    Ident,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    Unary,
)
from chartkit.model import FieldPath

Known: TypeAlias = frozenset[FieldPath]
"""The paths that are there: the name of a variable and the steps from there."""
NOTHING: Final[Known] = frozenset()
_EMPTY: Final = (ListLiteral(()), MapLiteral(()))


def path_of(expr: Expr) -> FieldPath | None:
    """Return the steps of a path from a variable, however they are written; None for another
    expression."""
    steps: list[str | int] = []
    while True:
        match expr:
            case Select(operand, field):
                steps.append(field)
                expr = operand
            case Index(operand, Literal(str() | int() as key)):
                steps.append(key)
                expr = operand
            case Ident(name):
                return (name, *reversed(steps))
            case _:
                return None


def where_there(expr: Expr) -> Expr:
    """Return an optional field with a default as it is read where the field is there."""
    match expr:
        case Call("orValue", Call() | Select() | Index() as asked, _) if path_of(asked) is not None:
            return _plain(asked)
    return expr


def _plain(expr: Expr) -> Expr:
    match expr:
        case Select(operand, field):
            return Select(_plain(operand), field)
        case Index(operand, key):
            return Index(_plain(operand), key)
    return expr


def present_if(test: Expr, *, holds: bool = True) -> Known:
    """Return the paths that are there if a test holds, or does not."""
    match test:
        case Unary("!", operand):
            return present_if(operand, holds=not holds)
        case Chain(operator, terms):
            found = [present_if(term, holds=holds) for term in terms]
            every = (operator == "&&") == holds
            return _with_holders(NOTHING.union(*found) if every else found[0].intersection(*found))
        case Call("has", None, (asked,)) | Call("hasValue", Call() | Select() | Index() as asked):
            return _paths(asked) if holds else NOTHING
        case Call("orValue", asked, (Literal(False),)) if asked is not None:
            return _paths(asked) if holds else NOTHING
        case Binary("==" | "!=" as sign, left, right):
            return _of_equality(left, right, same=(sign == "==") == holds)
        case Binary(">" | "!=", Call("size", Call("orValue", asked, (empty,))), Literal(0)):
            return _paths(asked) if holds and empty in _EMPTY else NOTHING
        case Binary("<=", Call("size", Call("orValue", asked, (empty,))), Literal(0)):
            return _paths(asked) if not holds and empty in _EMPTY else NOTHING
        case Binary("in", wanted, Call("orValue", asked, (empty,))) if wanted not in _EMPTY:
            return _paths(asked) if holds and empty in _EMPTY else NOTHING
        case Binary("in", Call("orValue", asked, (default,)), ListLiteral(elements)):
            # Whether a value that is in a list, or not, cannot be the default.
            listed = default in elements or Call("dyn", None, (default,)) in elements
            known = all(isinstance(each, Literal) for each in (default, *elements))
            tells = known and not listed if holds else listed
            return _paths(asked) if tells else NOTHING
    return NOTHING


def empty_if(test: Expr) -> Known:
    """Return the paths of lists that are empty, or are not there, if a test holds."""
    match test:
        case Chain("&&", terms):
            return NOTHING.union(*map(empty_if, terms))
        case Binary("==" | "<=", Call("size", Chain() | Binary() | Call() as lists), Literal(0)):
            return frozenset(path for each in _summands(lists) if (path := path_of(each)))
    return NOTHING


def _summands(lists: Expr) -> list[Expr]:
    match lists:
        case Binary("+", left, right):
            return [*_summands(left), *_summands(right)]
        case Call("orValue", Call() | Select() | Index() as asked, (ListLiteral(()),)):
            return [asked]
    return [lists]


def _of_equality(left: Expr, right: Expr, *, same: bool) -> Known:
    for value, other in ((left, right), (right, left)):
        match value:
            case Call("orValue", Call() | Select() | Index() as asked, (default,)):
                if not same and default == other:
                    return _paths(asked)
                if same and isinstance(other, Literal) and isinstance(default, Literal):
                    return _paths(asked) if default != other else NOTHING
            case Call("size", Call("orValue", Call() | Select() | Index() as asked, (empty,))):
                if not same and other == Literal(0) and empty in _EMPTY:
                    return _paths(asked)
    return NOTHING


def _paths(asked: Expr | None) -> Known:
    path = None if asked is None else path_of(asked)
    return NOTHING if path is None else _with_holders([path])


def _with_holders(paths: Iterable[FieldPath]) -> Known:
    """Return paths with those of the objects that they are in."""
    return frozenset(path[:end] for path in paths for end in range(2, len(path) + 1))
