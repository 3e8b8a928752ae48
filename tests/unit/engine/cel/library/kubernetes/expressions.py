"""Expressions evaluated as a MutatingAdmissionPolicy's are: it has all of Kubernetes' libraries."""

from chartkit.engine.cel import CelError, compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.values import Value


def comes_to(expression: str, **variables: Value) -> str:
    """The value as an expression, or `error: ` and the message."""
    program = compile_expression(expression, declaring(ENVIRONMENTS["map"], variables))
    try:
        return notation(program.evaluate(variables))
    except CelError as error:
        return f"error: {error}"
