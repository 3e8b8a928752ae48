"""A checked expression, and the complaints that tools want to know more about than their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chartkit.engine.cel.ast import Expr, Parsed
from chartkit.engine.cel.errors import CelCompileError, Issue
from chartkit.engine.cel.types import Type


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression whose types are known; every mapping has node ids as its keys.

    types: of every node that has a value (not of the field literal of `a.?b`). overloads: of a
    call, the ids of the overloads that may be meant, in the order of their declaration. names: of
    an `Ident` or `Select`, the variable that it is as a whole (`a.b` may be one; then the parts
    have no types); a leading dot says that a variable of a comprehension is not meant. Of a
    `StructLiteral`, its type's name. Of a call, the function's name where it is not the node's:
    `math.abs` with the target being part of the name and no argument, or `size` for `.size`.
    """

    parsed: Parsed
    types: Mapping[int, Type]
    overloads: Mapping[int, tuple[str, ...]]
    names: Mapping[int, str]

    @property
    def source(self) -> str:
        """The expression as it was written."""
        return self.parsed.source

    @property
    def root(self) -> Expr:
        """The outermost node."""
        return self.parsed.root

    @property
    def output_type(self) -> Type:
        """The type of the expression's value; `dyn` where only the evaluation shows it."""
        return self.types[self.parsed.root.id]


@dataclass(frozen=True, slots=True)
class UndefinedField(Issue):
    """A field that its type does not have.

    struct: the type's name; field: what was asked for; suggestion: the field that was perhaps
    meant, None where no name is near.
    """

    struct: str = ""
    field: str = ""
    suggestion: str | None = None


class OutputTypeError(CelCompileError):
    """An expression has another type than its place asks for.

    The message is Kubernetes'; callers with another wording have `expected` and `actual`.
    """

    def __init__(self, source: str, expected: Sequence[Type], actual: Type) -> None:
        self.expected = tuple(expected)
        self.actual = actual
        wanted = str(expected[0])
        if len(expected) > 1:
            wanted = f"one of [{' '.join(map(str, expected))}]"
        super().__init__(source, [Issue(f"must evaluate to {wanted} but got {actual}")])
