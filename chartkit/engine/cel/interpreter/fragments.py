"""Pieces of generated Python, and who writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.checker.checked import Checked
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.interpreter.constant_folding import Folded
from chartkit.engine.cel.values import Value

UNKNOWN: Final = object()


class Unsupported(Exception):  # noqa: N818 - no error: the closures do as well
    """An expression has no generated code."""


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
        return self.constant is not UNKNOWN

    @property
    def condition(self) -> str:
        """The expression where a bool is needed: anything else leaves it to the closures."""
        return self.text if self.kind is bool else f"_b({self.text})"


Scope = Mapping[str, Code]
"""The variables of macros that may be named."""


_PLAIN = frozenset({int, float, str, bytes, bool, type(None)})


class Writer(ABC):
    """The writer of the code of one expression.

    table: the constants by their names; weight: what running the code written so far costs at most,
    without the rounds of macros; loops: how many macros the code stands inside of; metered: whether
    the code refers to a meter.
    """

    def __init__(self, checked: Checked, environment: Environment, folded: Folded) -> None:
        self.checked = checked
        self.environment = environment
        self.folded = folded
        self.table: dict[str, Value] = {}
        self.weight = 0
        self.loops = 0
        self.metered = False
        self._names = 0
        self._depth = 0

    def constant(self, value: Value) -> str:
        """A name for a value in the table."""
        name = f"k{len(self.table)}"
        self.table[name] = value
        return name

    def local(self) -> str:
        """A name for a variable of a macro."""
        self._names += 1
        return f"a{self._names}"

    def meter(self) -> str:
        self.metered = True
        return "m"

    def known(self, value: Value) -> Code:
        kind = value.__class__
        return Code(self.constant(value), kind, value, document=kind in _PLAIN or not value)

    @abstractmethod
    def visit(self, expr: Expr, scope: Scope) -> Code:
        """The code of a node; raises `Unsupported`."""
