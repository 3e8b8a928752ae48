"""Validate rules as a whole: what decides, deny's messages, what a deletion gets."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.run import context_of
from chartkit.engine.cluster_policy.validate import compile_validate
from chartkit.engine.context.context import Context
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource, RuleResult, Status
from tests.unit.engine.policies import obj, policy, request, rule


def _result(validate: Body, given: Request | None = None, **data: Any) -> RuleResult | None:
    read = policy(rule(validate=validate))
    given = given or request()
    context = context_of(given)
    return compile_validate(read.rules[0], read)(Context({**context.data, **data}), given)


def _text(validate: Body, **data: Any) -> tuple[str, str]:
    result = _result(validate, **data)
    assert result is not None
    return result.status.value, result.message


def _deny(*keys: Any, **parts: Any) -> Body:
    conditions = [
        {"key": key, "operator": "Equals", "value": "a", **parts.get("condition", {})}
        for key in keys
    ]
    return {"deny": {"conditions": {"any": conditions}}, **parts.get("validate", {})}


PASSED = ("pass", "validation rule 'r' passed.")


@pytest.mark.parametrize(
    ("validate", "expected"),
    [
        (_deny("b"), PASSED),
        (_deny("a"), ("fail", "validation error: rule r failed")),
        (_deny("a", validate={"message": "m"}), ("fail", "m")),
        (_deny("a", validate={"message": "m"}, condition={"message": "c"}), ("fail", "m; c")),
        (_deny("a", condition={"message": "c {{ x }}"}), ("fail", "c 1")),
        (
            _deny("a", validate={"message": "{{ zz }}"}, condition={"message": "c {{ x }}"}),
            ("fail", "c {{ x }}"),
        ),
        (_deny("a", validate={"message": "{{ zz }}"}), ("fail", "")),
        (
            _deny("a", validate={"message": "{{ l }}"}),
            (
                "fail",
                "the produced message didn't resolve to a string, check your policy definition.",
            ),
        ),
        ({"deny": {}}, ("fail", "validation error: rule r failed")),
        ({"deny": {"conditions": {"any": []}}, "message": "m"}, PASSED),
    ],
)
def test_validate_deny(validate: Body, expected: tuple[str, str]) -> None:
    assert _text(validate, x=1, l=["a"]) == expected


def test_a_condition_that_cannot_be_evaluated_is_an_error() -> None:
    status, message = _text(_deny("{{ zz }}"))
    assert status == "error"
    assert message.startswith("failed to check deny conditions: failed to substitute variables")


def test_deny_comes_before_patterns_and_those_before_foreach() -> None:
    pattern = {"kind": "Service"}
    loop = [{"list": "[`1`]", "deny": {}}]
    assert _text({**_deny("b"), "pattern": pattern}) == PASSED
    assert _text({"pattern": pattern, "anyPattern": [{}], "foreach": loop})[0] == "fail"
    assert _text({"anyPattern": [{}], "foreach": loop})[0] == "pass"


def test_a_deletion_is_denied_but_has_no_object_to_compare() -> None:
    deleted = request(operation=Operation.DELETE)
    assert _result({"pattern": {"kind": "Service"}}, deleted) is None
    assert _result({"anyPattern": [{"kind": "Service"}]}, deleted) is None
    denied = _result({"deny": {}}, deleted)
    assert denied is not None
    assert denied.status is Status.FAIL


def test_what_passes_is_answered_with_one_result() -> None:
    read = policy()
    handle = compile_validate(read.rules[0], read)
    first, second = (handle(Context({}), request(obj(name=name))) for name in ("a", "b"))
    assert first is second


def test_a_rule_without_a_body_says_nothing() -> None:
    assert _result({"message": "m"}, request(Resource({}))) is None
