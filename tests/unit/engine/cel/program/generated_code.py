"""The Python that is made of an expression, as a text."""

from chartkit.engine.cel.interpreter.constant_folding import fold
from chartkit.engine.cel.interpreter.frame import WORK_LIMIT
from chartkit.engine.cel.interpreter.program import Program, generate


def generated_code(program: Program) -> str:
    """The code of a program; empty where there is none."""
    limit = program.environment.options.cost_limit or WORK_LIMIT
    folded = fold(program.checked, program.environment)
    generated = generate(program.checked, program.environment, folded, limit)
    return "" if generated is None else generated.source
