"""`validate.cel` of a ClusterPolicy."""

from typing import Any

import pytest

from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserMocks
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Location, Resource
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import pod
from tests.unit.engine.policies import policy_resource, rule

NODE: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"is": "web"}}
VALUES = read_values(None, Location("v"), read_settings([]))


def said(*expressions: str | Body, message: str = "", **parts: Any) -> tuple[str, str]:
    """Status and message of a rule with some expressions; celPreconditions may be among parts."""
    listed = [{"expression": one} if isinstance(one, str) else one for one in expressions]
    given = {"celPreconditions": parts.pop("celPreconditions", None)}
    body = rule(
        validate={"message": message, "cel": {"expressions": listed, **parts}},
        **{name: part for name, part in given.items() if part},
    )
    compiled = compile_policy(policy_resource(body))
    world = World(UserApi(Cluster([NODE])), mocks=UserMocks(VALUES))
    found = evaluate([compiled], Request(pod()), world)
    return found[0].status.value, found[0].message


@from_table("expression", "expected")
def test_one_expression(expression: str | Body, expected: list[str]) -> None:
    assert list(said(expression)) == expected


def test_the_message_of_the_rule() -> None:
    assert said("false", message="the rule's") == ("fail", "the rule's")


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.UPDATE])
def test_numbers_are_plain_after_a_mutation(operation: Operation) -> None:
    patch = {"patchStrategicMerge": {"spec": {"priority": 3}}}
    compared = "object.spec.priority + 1 > 3 && (oldObject == null || oldObject.spec.priority < 9)"
    cel = {"expressions": [{"expression": compared}]}
    rules = (rule(validate=None, mutate=patch), rule(name="c", validate={"cel": cel}))
    written = [{key: part for key, part in one.items() if part} for one in rules]
    subject = pod()
    body = {**subject.body, "spec": {**subject.body["spec"], "priority": 2}}
    request = Request(Resource(body), Resource(body), operation)
    if operation is Operation.CREATE:
        request = Request(Resource(body))
    found = evaluate([compile_policy(policy_resource(*written))], request)
    assert [one.status.value for one in found] == ["pass", "pass"]


def test_validate_cel_preconditions() -> None:
    unmet = [{"name": "a", "expression": "false"}]
    assert said("true", celPreconditions=unmet) == ("skip", "cel preconditions not met")


def test_validate_cel_variables() -> None:
    assert said("variables.a == 1", variables=[{"name": "a", "expression": "1"}])[0] == "pass"


@pytest.mark.parametrize(
    ("name", "action", "status"),
    [("n", "Deny", "pass"), ("none", "Deny", "error"), ("none", "Allow", "pass")],
)
def test_validate_cel_parameters(name: str, action: str, status: str) -> None:
    found = said(
        "object.metadata.name == params.spec.is",
        paramKind={"apiVersion": "v1", "kind": "Node"},
        paramRef={"name": name, "parameterNotFoundAction": action},
    )
    assert found[0] == status
