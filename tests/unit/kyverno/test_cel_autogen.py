"""Which policies in CEL are extended to the controllers of Pods, whatever their constraints are."""

import pytest

from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.model import Body, Json

PODS: Body = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
WRONG: tuple[Json, ...] = (
    *(None, 1, 1.5, True, "x", [], ["x"], [None], [[]], {}, {"a": None}, {"0": PODS}),
)


def _policy(constraints: Json) -> Body:
    return {"kind": "ValidatingPolicy", "spec": {"matchConstraints": constraints}}


@pytest.mark.parametrize(
    ("constraints", "extended"),
    [
        ({"resourceRules": [PODS]}, True),
        ({"resourceRules": [{**PODS, "operations": ["CREATE"]}]}, True),
        ({"resourceRules": [{**PODS, "resourceNames": ["a"]}]}, False),
        ({"resourceRules": [{**PODS, "resources": ["pods", "services"]}]}, False),
        ({"resourceRules": [PODS, PODS]}, False),
        ({"resourceRules": [PODS], "objectSelector": {"matchLabels": {"a": "b"}}}, False),
        ({"resourceRules": [PODS], "excludeResourceRules": [PODS]}, False),
    ],
)
def test_policies_of_pods_alone(constraints: Body, extended: bool) -> None:
    assert extends_to_controllers(_policy(constraints)) is extended


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_constraints_of_any_type(wrong: Json) -> None:
    for constraints in (
        wrong,
        {"resourceRules": wrong},
        {"resourceRules": [wrong]},
        {"resourceRules": [{**PODS, "apiGroups": wrong}]},
        {"resourceRules": [{**PODS, "resources": [wrong]}]},
    ):
        assert not extends_to_controllers(_policy(constraints))
