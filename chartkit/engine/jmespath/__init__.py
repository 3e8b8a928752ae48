"""JMESPath as Kyverno has it: its grammar, its errors for missing keys, and its functions."""

from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.engine.jmespath.errors import (
    ArityError,
    CrashError,
    ExpressionSyntaxError,
    FunctionError,
    InvalidTypeError,
    JMESPathError,
    LiteralError,
    NotFoundError,
    UnknownFunctionError,
)
from chartkit.engine.jmespath.expression import WHOLE_INPUT, Expression, compile_expression
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.jmespath.sources import Sources, use_sources

__all__ = [
    "FUNCTIONS",
    "WHOLE_INPUT",
    "ArityError",
    "CrashError",
    "Expression",
    "ExpressionSyntaxError",
    "FunctionError",
    "FunctionSpec",
    "InvalidTypeError",
    "JMESPathError",
    "LiteralError",
    "NotFoundError",
    "Sources",
    "UnknownFunctionError",
    "compile_expression",
    "use_sources",
]
