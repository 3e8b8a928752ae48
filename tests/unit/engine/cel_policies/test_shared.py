"""Which values policies may share."""

import pytest

from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.expressions import (
    ExpressionCompiler,
    names_its_own,
    sees_the_request_alone,
)
from chartkit.engine.cel_policies.policy import NamedExpression, read_cel_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.errors import CompileError
from chartkit.model import Body, Status
from tests.unit.engine.cel_policies.policies import pod, policy, variables


@pytest.mark.parametrize(
    ("expression", "alone"),
    [
        ("object.spec.containers.map(c, c.image)", True),
        ("request.operation + string(namespaceObject == null)", True),
        ("exceptions.allowedValues", False),
        ("[1].all(exceptions, exceptions > 0)", False),
        ("[1].all(exceptions, true) && exceptions.allowedValues == []", False),
        ("[1].all(other, other > 0)", True),
        ("random()", False),
        ("time.now() > timestamp(0)", False),
        ("resource.Get('v1', 'pods', 'a', 'b')", False),
    ],
)
def test_what_depends_on_the_request_alone(expression: str, alone: bool) -> None:
    assert sees_the_request_alone(compile_expression(expression, ENVIRONMENTS["vpol"])) is alone


@pytest.mark.parametrize("expression", ["variables.a", "params.b", "[1].map(variables, 1)"])
def test_what_a_policy_alone_has(expression: str) -> None:
    assert names_its_own(expression)
    assert not names_its_own("object.a")


def test_an_expression_is_compiled_once_for_policies_with_the_same_variables() -> None:
    def compiled(**given: str) -> tuple[object, object]:
        compiler = ExpressionCompiler(read_cel_policy(policy()), ENVIRONMENTS["vpol"])
        compiler.variables([NamedExpression(name, text) for name, text in given.items()])
        return compiler.one("spec", "variables.a == 1"), compiler.one("spec", "object.kind == ''")

    one, plain = compiled(a="1")
    assert compiled(a="1") == (one, plain)
    assert compiled(a="2") == (one, plain)
    for other, same in (compiled(a="dyn(1)"), compiled(a="1", b="2")):
        assert other is not one
        assert same is plain


def test_a_variable_is_not_there_for_those_before_it() -> None:
    texts = variables(a="1", b="variables.a + 1")
    assert compile_cel_policy(policy(variables=texts)).evaluators
    with pytest.raises(CompileError, match="undefined field 'a'"):
        compile_cel_policy(policy(variables=[texts[1], texts[0]]))


def test_match_conditions_of_an_api_server_see_no_namespace_whoever_asked_before() -> None:
    text = "namespaceObject == null"
    common: Body = {"variables": variables(bare=text)}
    asked = policy(
        "ValidatingAdmissionPolicy",
        **common,
        validations=[{"expression": "!variables.bare"}],
    )
    matching = policy(
        "ValidatingAdmissionPolicy",
        **common,
        matchConditions=[{"name": "c", "expression": "variables.bare"}],
        validations=[{"expression": "!variables.bare"}],
    )
    found = [compile_cel_policy(one) for one in (asked, matching, asked)]
    request = Request(pod(), namespace={"metadata": {"name": "default"}})
    assert [one.status for one in evaluate(found, request)] == [Status.PASS] * 3
