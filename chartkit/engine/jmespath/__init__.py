"""JMESPath as Kyverno has it: its grammar, its errors for missing keys, and its functions."""

from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.engine.jmespath.errors import (
    CrashError,
    ExpressionSyntaxError,
    InvalidTypeError,
    JMESPathError,
    NotFoundError,
)
from chartkit.engine.jmespath.expression import WHOLE_INPUT, Expression, compile_expression
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.jmespath.sources import Sources, use_sources

__all__ = [
    "FUNCTIONS",
    "WHOLE_INPUT",
    "CrashError",
    "Expression",
    "ExpressionSyntaxError",
    "FunctionSpec",
    "InvalidTypeError",
    "JMESPathError",
    "NotFoundError",
    "Sources",
    "compile_expression",
    "use_sources",
]
