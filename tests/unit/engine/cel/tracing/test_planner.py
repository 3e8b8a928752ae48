"""The fields that an expression failed over."""

from contextlib import suppress
from typing import Any

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelError, Environment, compile_expression
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.tracing.calls import RepeatHost
from chartkit.engine.cel.tracing.datum import UNKNOWN, Datum
from chartkit.engine.cel.tracing.junctions import pointers
from chartkit.engine.cel.tracing.planner import causes_of, traced
from tests.data import from_table, tables
from tests.unit.engine.cel.program.random_expressions import VARIABLES, expression
from tests.unit.engine.cel.program.test_fast_is_exact import (
    ENVIRONMENT,
    NOTHING,
    compiled,
    exact,
    shown,
)

_TABLES = tables(__file__)

POD: Any = _TABLES["pod"]
ALL = (
    "(object.spec.containers + object.spec.?initContainers.orValue([])"
    " + object.spec.?ephemeralContainers.orValue([]))"
)
FIRST, SECOND, THIRD = "/spec/containers/0", "/spec/containers/1", "/spec/containers/2"
INIT = "/spec/initContainers/0"


def fields(source: str, subject: Any = None, environment: Environment | None = None) -> list[str]:
    """The fields that an expression which is false, or has no value, is about."""
    program = compile_expression(source, environment or ENVIRONMENTS["vpol"])
    body = POD if subject is None else subject
    with suppress(CelError):
        assert program.evaluate({"object": body}) is False
    roots = {"object": Datum(body, ())}
    causes = causes_of(program, roots, RepeatHost(OFFLINE))
    assert causes is not None
    return list(pointers(causes, body))


@from_table("source", "expected")
def test_fields_of_a_failure(source: str, expected: list[str]) -> None:
    assert fields(source.replace("ALL.", f"{ALL}.")) == expected


def test_an_error_that_another_element_outweighs_is_not_reported() -> None:
    source = "object.spec.containers.all(c, c.securityContext.privileged == false)"
    assert fields(source) == [f"{SECOND}/securityContext/privileged"]


def test_a_conversion_keeps_the_fields_of_conditions_behind() -> None:
    subject = {"spec": {"class": "gold", "size": 2}}
    source = "object.spec.class == 'gold' ? object.spec.size > 3 : true"
    assert fields(source, subject) == ["/spec/size", "/spec/class"]


def test_members_of_what_an_expression_made_are_selected_as_the_interpreter_does() -> None:
    source = "dyn(object.spec.containers + object.spec.containers).name == 'a'"
    assert fields(source) == ["/spec/containers/0", f"{SECOND}", f"{THIRD}"]
    program = compile_expression("optional.of({'a': 1}).a.hasValue()", ENVIRONMENTS["vpol"])
    assert traced(program, {}, RepeatHost(OFFLINE)).value is True


def test_pointers_are_few_and_each_once() -> None:
    subject = {"spec": {"items": [{"a": 1, "b": 1} for _ in range(500)]}}
    found = fields("object.spec.items.all(i, i.a == 2 || i.a == 3 || i.b == i.a + 1)", subject)
    assert len(found) == len(set(found)) == 32
    assert found[:2] == ["/spec/items/0/b", "/spec/items/0/a"]


def test_a_trace_that_takes_too_long_reports_nothing() -> None:
    subject = {"items": [{"name": str(at)} for at in range(1500)]}
    source = "object.items.all(a, object.items.all(b, a.name != b.name + 'x' || false) && false)"
    program = compile_expression(source, ENVIRONMENTS["vpol"])
    roots = {"object": Datum(subject, ())}
    assert causes_of(program, roots, RepeatHost(OFFLINE)) is None


@pytest.mark.parametrize("block", range(4))
def test_a_trace_computes_what_the_interpreter_does(block: int) -> None:
    roots = {"object": Datum(VARIABLES["object"], ()), "x": Datum(VARIABLES["x"])}
    compared = 0
    for seed in range(block * 100, block * 100 + 100):
        program = compiled(expression(seed), ENVIRONMENT)
        if program is None:
            continue
        try:
            found = traced(program, roots, RepeatHost(OFFLINE)).value
        except CelError:
            found = NOTHING
        if found is not UNKNOWN:
            compared += 1
            assert shown(found) == shown(exact(program)[0]), program.source
    assert compared > 90
