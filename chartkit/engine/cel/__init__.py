"""CEL, the Common Expression Language, as Kubernetes and Kyverno have it: checked and compiled."""

from __future__ import annotations

from chartkit.engine.cel.compile import compile_expression
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.interpreter.program import Program

__all__ = [
    "ENVIRONMENTS",
    "CelCompileError",
    "CelError",
    "Environment",
    "Program",
    "compile_expression",
    "declaring",
]
