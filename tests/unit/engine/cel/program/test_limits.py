"""What stops an expression, and what makes no program wherever it stands."""

import resource

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, compile_expression
from chartkit.engine.cel.errors import CostLimitExceeded
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.closures import Planner
from chartkit.engine.cel.interpreter.constant_folding import fold
from chartkit.engine.cel.interpreter.frame import Frame
from tests.data import from_table, tables
from tests.errors import error_of

VARIABLES: dict[str, object] = {
    "object": {
        "l": list(range(1000)),
        "big": "x" * 1_000_000,
        "m": {str(key): key for key in range(1000)},
    }
}
EXPLODING = tables(__file__)["exploding"]


@pytest.mark.parametrize("name", ["vpol", "gpol"])
@pytest.mark.parametrize("source", EXPLODING)
def test_an_exploding_expression_is_stopped(source: str, name: str) -> None:
    program = compile_expression(source, ENVIRONMENTS[name])
    with pytest.raises(CelError, match=r"^operation cancelled: actual cost limit exceeded$"):
        program.evaluate(VARIABLES)


def test_doubling_takes_no_memory() -> None:
    program = compile_expression(
        "cel.bind(a, object.l + object.l, cel.bind(b, a + a + a + a + a + a + a + a, "
        "cel.bind(c, b + b + b + b + b + b + b + b, cel.bind(d, c + c + c + c + c + c + c + c, "
        "cel.bind(e, d + d + d + d + d + d + d + d, e + e + e + e + e + e + e))))).size()",
        ENVIRONMENTS["vpol"],
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CostLimitExceeded):
        program.evaluate(VARIABLES)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_nothing_absorbs_the_limit() -> None:
    exploding = EXPLODING[0]
    for source in (f"true || {exploding}", f"{exploding} || true"):
        program = compile_expression(source, ENVIRONMENTS["vpol"])
        if source.startswith("true"):
            assert program.evaluate(VARIABLES) is True
        else:
            with pytest.raises(CostLimitExceeded):
                program.evaluate(VARIABLES)


@from_table("source", "cost")
def test_costs_are_those_of_cel_go(source: str, cost: int) -> None:
    environment = ENVIRONMENTS["k8s"]
    program = compile_expression(source, environment)
    planner = Planner(program.checked, environment, fold(program.checked, environment))
    step = planner.plan(program.root, {})
    frame = Frame(VARIABLES, OFFLINE, 10**9, planner.slots)
    step(frame)
    assert frame.cost == cost


@pytest.mark.parametrize("name", ["vpol", "gpol"])
@pytest.mark.parametrize(
    ("key", "kind"), [("null", "types.Null"), ("b'a'", "types.Bytes"), ("int", "*types.Type")]
)
def test_a_key_that_is_none(name: str, key: str, kind: str) -> None:
    for text in (f"object[{key}]", f"object.?a[?{key}]", f"false ? object[{key}] : 1"):
        error = error_of(CelCompileError, compile_expression, text, ENVIRONMENTS[name])
        assert str(error) == f"invalid qualifier type: {kind}"


def test_a_conversion_is_a_constant_where_constants_are_computed() -> None:
    text = "object[timestamp('2026-01-02T03:04:05Z')]"
    with pytest.raises(CelCompileError, match=r"invalid qualifier type: types\.Timestamp"):
        compile_expression(text, ENVIRONMENTS["vpol"])
    program = compile_expression(text, ENVIRONMENTS["gpol"])
    with pytest.raises(CelError, match=r"invalid qualifier type: types\.Timestamp"):
        program.evaluate({"object": {}})


def test_a_variable_is_no_constant() -> None:
    program = compile_expression("object[json]", ENVIRONMENTS["vpol"])
    with pytest.raises(CelError):
        program.evaluate({"object": {}})


@from_table("text", "name")
def test_a_type_that_is_no_value(text: str, name: str) -> None:
    error = error_of(CelCompileError, compile_expression, text, ENVIRONMENTS["vpol"])
    assert str(error) == f"reference to undefined type: {name}"
