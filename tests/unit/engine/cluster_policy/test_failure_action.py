import pytest

from chartkit.engine.cluster_policy.handler import policy_action, rule_action
from chartkit.model import Body
from tests.data import from_table
from tests.unit.engine.policies import policy, rule


def _validate(**fields: object) -> Body:
    return {"pattern": {"a": 1}, **fields}


def test_audit_is_the_default() -> None:
    assert rule_action(policy(), "r", "default") == "Audit"


@pytest.mark.parametrize("name", ["r", "autogen-r", "autogen-cronjob-r"])
def test_a_rules_own_action_wins(name: str) -> None:
    given = policy(
        rule("r", validate=_validate(failureAction="Enforce")),
        rule("other", validate=_validate(failureAction="Audit")),
    )
    assert rule_action(given, name, "default") == "Enforce"
    assert rule_action(given, "other", "default") == "Audit"


def test_old_spellings() -> None:
    assert rule_action(policy(validationFailureAction="enforce"), "r", "default") == "Enforce"


@from_table("override", "namespace", "action")
def test_overrides_by_namespace(override: Body, namespace: str, action: str) -> None:
    labels = {"env": "prod"}
    wide = policy(validationFailureActionOverrides=[override])
    own = policy(rule(validate=_validate(failureActionOverrides=[override])))
    assert rule_action(wide, "r", namespace, labels) == action
    assert rule_action(own, "r", namespace, labels) == action


def test_a_policys_action_is_the_first_rules_own() -> None:
    given = policy(
        rule("a"),
        rule("b", validate=_validate(failureAction="Enforce")),
        validationFailureAction="Audit",
    )
    assert policy_action(given, "default") == "Enforce"
    assert rule_action(given, "a", "default") == "Audit"
    assert rule_action(given, "unknown", "default") == "Enforce"


def test_image_rules() -> None:
    images = [{"failureAction": "Audit"}, {"failureAction": "Enforce"}]
    body = rule(verifyImages=images)
    del body["validate"]
    assert rule_action(policy(body), "r", "default") == "Enforce"
