"""The types of `request` and `namespaceObject`: their fields are known before anything runs."""

import pytest

from chartkit.engine.cel import CelCompileError, CelError, compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from tests.data import from_table


@from_table("expression", "output")
def test_admission_fields(expression: str, output: str) -> None:
    assert str(compile_expression(expression, ENVIRONMENTS["k8s"]).output_type) == output


@pytest.mark.parametrize(
    ("expression", "field"), [("request.object", "object"), ("namespaceObject.metadata.uid", "uid")]
)
def test_undefined_fields(expression: str, field: str) -> None:
    with pytest.raises(CelCompileError, match=f"undefined field '{field}'"):
        compile_expression(expression, ENVIRONMENTS["k8s"])


def test_kyverno_puts_the_objects_into_the_request() -> None:
    program = compile_expression("request.object.spec.a", ENVIRONMENTS["vpol"])
    assert program.evaluate({"request": {"object": {"spec": {"a": 1}}}}) == 1


def test_a_literal_of_such_a_type_has_no_value() -> None:
    program = compile_expression("kubernetes.UserInfo{username: 'a'}", ENVIRONMENTS["k8s"])
    with pytest.raises(CelError, match=r"unknown type 'kubernetes\.UserInfo'"):
        program.evaluate({})
