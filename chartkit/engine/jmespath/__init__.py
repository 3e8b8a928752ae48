"""JMESPath as Kyverno has it: its grammar, its errors for missing keys, and its functions."""

from chartkit.engine.jmespath.errors import (
    ExpressionSyntaxError,
    JMESPathError,
)
from chartkit.engine.jmespath.expression import Expression, compile_expression
from chartkit.engine.jmespath.nodes import Sources, use_sources

__all__ = [
    "Expression",
    "ExpressionSyntaxError",
    "JMESPathError",
    "Sources",
    "compile_expression",
    "use_sources",
]
