"""Which values policies may share."""

from __future__ import annotations

import pytest

from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.shared import sees_the_request_alone, shareable
from chartkit.engine.evaluate import evaluate
from chartkit.engine.request import Request
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
def test_what_a_policy_alone_has_is_not_shared(expression: str) -> None:
    assert not shareable(expression, ENVIRONMENTS["vap"])
    assert shareable("object.a", ENVIRONMENTS["vap"])


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
