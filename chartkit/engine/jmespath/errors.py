"""Errors of compiling or searching an expression, in Kyverno's words."""

from __future__ import annotations

from chartkit.errors import EvaluationError


class JMESPathError(EvaluationError):
    """An expression that cannot be compiled or searched."""


class ExpressionSyntaxError(JMESPathError):
    """A text that is not an expression; offset is where, in characters from the start."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(f"SyntaxError: {message}")
        self.offset = offset


class LiteralError(JMESPathError):
    """A backtick literal or quoted name that is not JSON."""


class NotFoundError(JMESPathError):
    """A key that an object does not have; most constructs take it as null."""

    def __init__(self, key: str) -> None:
        super().__init__(f'Unknown key "{key}" in path')
        self.key = key


class InvalidTypeError(JMESPathError):
    """An argument of a type that the function does not take."""


class ArityError(JMESPathError):
    """A function called with too few or too many arguments."""


class UnknownFunctionError(JMESPathError):
    """A function that there is not; an error only where the call is reached."""


class FunctionError(JMESPathError):
    """A function that cannot work with the values it got."""


class CrashError(JMESPathError):
    """A search that makes Kyverno's own process panic."""


def function_error(name: str, message: str) -> FunctionError:
    """An error that Kyverno reports with the function's name before it."""
    return FunctionError(f"JMESPath function '{name}': {message}")
