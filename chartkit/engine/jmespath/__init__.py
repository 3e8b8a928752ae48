"""JMESPath as Kyverno has it: its grammar, its errors for missing keys, and its functions."""

from chartkit.engine.jmespath.expression import (
    Expression,
    ExpressionSyntaxError,
    JMESPathError,
    compile_expression,
)

__all__ = [
    "Expression",
    "ExpressionSyntaxError",
    "JMESPathError",
    "compile_expression",
]
