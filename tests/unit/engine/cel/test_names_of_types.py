"""Names of types, and the fields of values that are structs in Go."""

import pytest

from chartkit.engine.cel import CelCompileError, CelError, compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS

_ACCOUNT = "dyn(user.parseServiceAccount('system:serviceaccount:a:b'))"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("duration", "reference to undefined type: duration"),
        ("type(timestamp('2026-01-02T03:04:05Z')) == timestamp", "undefined type: timestamp"),
        ("Object.spec", "reference to undefined type: Object.spec"),
        ("Object.spec == 1", "applied to '\\(type\\(Object.spec\\), int\\)'"),
        ("duration.seconds", "type 'type\\(duration\\)' does not support field selection"),
        ("duration{foo: 1}", "undefined field 'foo'"),
        ("int{foo: 1}", "undefined field 'foo'"),
    ],
)
def test_what_does_not_compile(expression: str, message: str) -> None:
    with pytest.raises(CelCompileError, match=message):
        compile_expression(expression, ENVIRONMENTS["mpol"])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("duration{}", "unknown type 'duration'"),
        ("list{}", "unknown type 'list'"),
        (f"{_ACCOUNT}.foo", "no such field: foo"),
        (f"has({_ACCOUNT}.foo)", "no such field: foo"),
        (f"{_ACCOUNT}.?foo", "no such field: foo"),
        (f"{_ACCOUNT}[1]", "no such overload"),
    ],
)
def test_what_has_no_value(expression: str, message: str) -> None:
    program = compile_expression(expression, ENVIRONMENTS["mpol"])
    with pytest.raises(CelError, match=message):
        program.evaluate({})


def test_a_variable_may_be_called_as_a_type() -> None:
    program = compile_expression("[1, 2].map(duration, duration + 1)", ENVIRONMENTS["mpol"])
    assert program.evaluate({}) == [2, 3]
