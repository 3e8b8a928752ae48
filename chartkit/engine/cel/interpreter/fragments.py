"""Pieces of generated Python, and who writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.checker.checked import Checked
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.interpreter.constant_folding import Folded
from chartkit.engine.cel.values import Value

UNKNOWN: Final = object()


class Unsupported(Exception):  # noqa: N818 - no error: the closures do as well
    """There is no generated code for an expression."""


@dataclass(frozen=True, slots=True)
class Code:
    """An expression of Python.

    kind: the exact class of its value where that is certain; constant: its value where it is
    known (`UNKNOWN` where not); document: whether it is a part of a variable that holds plain data.
    """

    text: str
    kind: type | None = None
    constant: Value = UNKNOWN
    document: bool = False

    @property
    def is_constant(self) -> bool:
        """Return whether the value is known."""
        return self.constant is not UNKNOWN

    @property
    def condition(self) -> str:
        """The expression where a bool is needed: anything else leaves it to the closures."""
        return self.text if self.kind is bool else f"_b({self.text})"


Scope = Mapping[str, Code]
"""The variables of macros that may be named."""


class Writer(Protocol):
    """The writer of the code of one expression.

    weight: what running the code written so far costs at most, without the rounds of macros.
    loops: how many macros the code stands inside of.
    """

    checked: Checked
    environment: Environment
    folded: Folded
    weight: int
    loops: int

    def constant(self, value: Value) -> str:
        """A name for a value in the table."""
        ...

    def local(self) -> str:
        """A name for a variable of a macro."""
        ...

    def meter(self) -> str:
        """The name of the meter."""
        ...

    def visit(self, expr: Expr, scope: Scope) -> Code:
        """The code of a node; raises `Unsupported`."""
        ...

    def known(self, value: Value) -> Code:
        """The code of a value that is known."""
        ...
