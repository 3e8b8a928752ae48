"""Accesses of a user, judged by an authorizer that the caller brings."""

import pytest

from chartkit.engine.cel.library.kubernetes.authz import (
    LIBRARY,
    SELECTORS_LIBRARY,
    Access,
    Authorizer,
    Decision,
)
from tests.data import from_table
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@pytest.mark.parametrize(
    ("expression", "access"),
    [
        ("a.path('/healthz').check('get')", Access("alice", "get", path="/healthz")),
        (
            "a.group('apps').resource('deployments').subresource('scale').namespace('n').name('x')"
            ".fieldSelector('f=1').labelSelector('l=1').check('create')",
            Access("alice", "create", "", "apps", "deployments", "scale", "n", "x", "f=1", "l=1"),
        ),
        (
            "a.serviceAccount('ns', 'sa').group('').resource('pods').check('list')",
            Access("system:serviceaccount:ns:sa", "list", resource="pods"),
        ),
    ],
)
def test_authz_what_is_asked(expression: str, access: Access) -> None:
    asked: list[Access] = []

    def decide(each: Access) -> Decision:
        asked.append(each)
        return Decision(True, "because")

    expression = f"[{expression}].map(d, d.allowed() && d.reason() == 'because')[0]"
    assert comes_to(expression, a=Authorizer("alice", decide)) == "true"
    assert asked[0] == access


@from_table("expression", "expected")
def test_authz_answers(expression: str, expected: str) -> None:
    authorizer = Authorizer("alice", lambda _question: Decision(False, error="gone"))
    assert comes_to(expression, a=authorizer).startswith(expected)


def test_a_check_costs_so_much_that_two_are_possible() -> None:
    decision = "a.path('/').check('get').allowed()"
    authorizer = Authorizer("alice", lambda _question: Decision(True))
    assert comes_to(f"{decision} && {decision}", a=authorizer) == "true"
    thrice = comes_to(f"{decision} && {decision} && {decision}", a=authorizer)
    assert thrice == "error: operation cancelled: actual cost limit exceeded"
    check = next(each for each in LIBRARY.overloads if each.id == "pathcheck_check")
    assert check.cost is not None
    assert check.cost([], None) == 350_000
    selector = SELECTORS_LIBRARY.overloads[0]
    assert selector.cost is not None
    assert selector.cost([None, "app=a"], None) == 10 + 1 + 150
