"""The syntax tree of a CEL expression, with every macro already expanded.

The shapes are those of the language's reference implementation: operators are calls of functions
named `_+_`, `_&&_`, `!_`, `_?_:_`, `_[_]`, `_?._`, `_[?_]`, `@in`; `has(a.b)` is a `Select` with
`test_only`; `all`, `map` and their kin are `Comprehension`s. What the author wrote in place of an
expansion stands in `Parsed.macro_calls`.

Every node has an `id`, unique in its expression, under which the checker files its type, and an
`offset`: the position in the source (in characters, from 0) that an error about it points to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from chartkit.engine.cel.values import Scalar


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression."""

    id: int
    offset: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant: null, bool, int, `Uint`, float, str or bytes."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Ident(Node):
    """A variable or the first part of a qualified name; a leading dot stays in the name."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.field`, or with `test_only` the question whether it is there: `has(...)`."""

    operand: Expr
    field: str
    test_only: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(args)` or, with a target, `target.function(args)`; operators have no target."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """`[a, ?b]`; optional_indices: the elements that are left out where they are absent."""

    elements: tuple[Expr, ...]
    optional_indices: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MapEntry(Node):
    """`key: value` or `?key: value`."""

    key: Expr
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapLiteral(Node):
    """`{key: value}`."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class FieldEntry(Node):
    """`field: value` or `?field: value` of a typed object."""

    field: str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class StructLiteral(Node):
    """`Name{field: value}`."""

    name: str
    fields: tuple[FieldEntry, ...]


class FoldKind(Enum):
    """The kind of a macro that goes through a list or map."""

    ALL = auto()
    ANY = auto()
    ONE = auto()
    LIST = auto()
    MAP = auto()
    BIND = auto()
    """No loop: a name for a value."""


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A fold over a list or map.

    `accu_var` starts as `accu_init`; for each element, while `loop_condition` holds, it becomes
    `loop_step`; `result` is then the value. `iter_var` is the element of a list or the key of a
    map; with `iter_var2` (not empty) the two are index and element, or key and value. `kind` is the
    macro's, None for another fold.
    """

    iter_range: Expr
    iter_var: str
    iter_var2: str
    accu_var: str
    accu_init: Expr
    loop_condition: Expr
    loop_step: Expr
    result: Expr
    kind: FoldKind | None = None


Expr: TypeAlias = (
    Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A macro: predicate: which elements count (None for every one), and what is made of each."""

    kind: FoldKind
    predicate: Expr | None = None
    value: Expr | None = None
    key: Expr | None = None


def shape_of(fold: Comprehension) -> Shape | None:
    """The macro; None for a fold of another kind."""
    kind, step = fold.kind, fold.loop_step
    if kind is FoldKind.BIND:
        return Shape(kind)
    if kind is None or not isinstance(step, Call):
        return None
    if kind in (FoldKind.ALL, FoldKind.ANY):
        return Shape(kind, step.args[1])
    if kind is FoldKind.ONE:
        return Shape(kind, step.args[0])
    predicate: Expr | None = None
    if step.function == "_?_:_":
        predicate, step, _ = step.args
        assert isinstance(step, Call)
    if len(step.args) == 3:
        return Shape(kind, predicate, step.args[2], step.args[1])
    made = step.args[1]
    if isinstance(made, ListLiteral):
        return Shape(kind, predicate, made.elements[0])
    if isinstance(made, MapLiteral) and len(made.entries) == 1 and not made.entries[0].optional:
        return Shape(kind, predicate, made.entries[0].value, made.entries[0].key)
    return None


INDEXING = frozenset({"_[_]", "_[?_]", "_?._"})
"""The functions of selections that are calls."""

ACCUMULATOR = "@result"
"""The name of `accu_var` in the standard macros; no author can write it."""


@dataclass(frozen=True, slots=True)
class MacroCall:
    """A macro as it was written: `target.function(args)`; macros inside its parts are expanded."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """An expression, its source, and by node id the macro calls that were expanded."""

    source: str
    root: Expr
    macro_calls: Mapping[int, MacroCall]


def nodes(root: Expr) -> Iterator[Expr]:
    """Every node of an expression, whatever its depth."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(parts(node))


def parts(node: Expr) -> tuple[Expr, ...]:
    """The nodes that a node is made of, in the order in which they are written."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case StructLiteral():
            return tuple(entry.value for entry in node.fields)
        case Comprehension():
            loop = (node.loop_condition, node.loop_step, node.result)
            return (node.iter_range, node.accu_init, *loop)
        case Literal() | Ident():
            return ()


def qualified_name(expr: Expr) -> str | None:
    """`a.b.c` as a text; None where it is not made of names alone."""
    parts: list[str] = []
    while isinstance(expr, Select):
        if expr.test_only:
            return None
        parts.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        return None
    parts.append(expr.name)
    return ".".join(reversed(parts))
