"""CEL, the Common Expression Language, as Kubernetes and Kyverno have it: checked and compiled."""

from __future__ import annotations

from chartkit.engine.cel.checker import check
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.types import Type

__all__ = [
    "ENVIRONMENTS",
    "CelCompileError",
    "CelError",
    "Environment",
    "Program",
    "compile_expression",
    "declaring",
]


def compile_expression(
    source: str, environment: Environment, *, expected: tuple[Type, ...] = ()
) -> Program:
    """The program of an expression; raises `CelCompileError`.

    expected: the types that the value may have; empty for any.
    """
    return Program(check(parse(source, environment), environment, expected=expected), environment)
