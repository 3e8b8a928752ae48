"""Generated code answers what the closures answer, or nothing; and it never costs less."""

import pytest

from chartkit.engine.cel import (
    ENVIRONMENTS,
    CelCompileError,
    CelError,
    Environment,
    Program,
    compile_expression,
)
from chartkit.engine.cel.declarations import Variable
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.closures import Planner
from chartkit.engine.cel.interpreter.constant_folding import fold
from chartkit.engine.cel.interpreter.frame import Frame
from chartkit.engine.cel.interpreter.program import generate
from chartkit.engine.cel.interpreter.runtime import UNDECIDED
from chartkit.engine.cel.types import DYN
from tests.unit.engine.cel.program.generated_code import generated_code
from tests.unit.engine.cel.program.random_expressions import VARIABLES, expression

_DYNAMIC = {name: Variable(DYN) for name in VARIABLES}
ENVIRONMENT = ENVIRONMENTS["vpol"].extend(_DYNAMIC)
LIMIT = 10**6
NOTHING = object()


def shown(value: object) -> str:
    """The value with the classes of all its parts; entries of maps in one order."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{shown(k)}:{shown(v)}" for k, v in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(shown, value)) + "]"
    return f"{value.__class__.__name__} {value!r}"


def exact(program: Program) -> tuple[object, int]:
    """The value from the closures, `NOTHING` for an error; and what it cost."""
    planner = Planner(
        program.checked, program.environment, fold(program.checked, program.environment)
    )
    step = planner.plan(program.root, {})
    frame = Frame(VARIABLES, OFFLINE, LIMIT, planner.slots)
    try:
        return step(frame), frame.cost
    except CelError:
        return NOTHING, frame.cost


def fast(program: Program, limit: int) -> object:
    """The value from generated code; `NOTHING` where it leaves the question."""
    folded = fold(program.checked, program.environment)
    generated = generate(program.checked, program.environment, folded, limit)
    if generated is None:
        return NOTHING
    try:
        return generated.load()(VARIABLES)
    except (CelError, *UNDECIDED):
        return NOTHING


def compiled(source: str, environment: Environment) -> Program | None:
    try:
        return compile_expression(source, environment)
    except CelCompileError:
        return None


@pytest.mark.parametrize("block", range(8))
def test_random_expressions(block: int) -> None:
    answered = 0
    for seed in range(block * 50, block * 50 + 50):
        program = compiled(expression(seed), ENVIRONMENT)
        if program is None:
            continue
        value, cost = exact(program)
        found = fast(program, LIMIT)
        if found is not NOTHING:
            answered += 1
            assert shown(found) == shown(value), (program.source, generated_code(program))
            assert cost == 0 or fast(program, cost - 1) is NOTHING, (program.source, cost)
    assert answered > 20
