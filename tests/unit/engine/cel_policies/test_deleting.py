"""DeletingPolicy: what it deletes, what its expressions see, when it runs."""

from typing import Any

import pytest

from chartkit.engine.cleanup.deleting import read_deleting_policy
from chartkit.engine.request import Request
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import (
    about,
    conditions,
    exception,
    pod,
    policy,
    variables,
)

TEAM = Resource(
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"env": "x"}}}
)


def deleting(*expressions: str, **spec: Any) -> Resource:
    """A DeletingPolicy about Pods."""
    spec.setdefault("schedule", "* * * * *")
    return policy("DeletingPolicy", conditions=conditions(*expressions), **spec)


def said(found: Resource, subject: Resource | None = None, *given: Any) -> tuple[str, str] | None:
    result = read_deleting_policy(found, given).evaluate(Request(subject or pod()))
    return None if result is None else (result.status.value, result.message)


MATCHED = ("pass", "resource matched")
UNMATCHED = ("fail", "resource did not match")


@from_table("expressions", "expected")
def test_deleting_conditions(expressions: list[str], expected: list[str]) -> None:
    found = said(deleting(*expressions))
    assert found is not None
    assert list(found) == expected


def test_deleting_variables() -> None:
    named = variables(name="object.metadata.name")
    assert said(deleting("variables.name == 'web'", variables=named)) == MATCHED


@pytest.mark.parametrize(
    ("constraints", "matches"),
    [
        ({"resourceRules": [about(operations=["DELETE"])]}, True),
        ({"resourceRules": [about(operations=[])]}, True),
        ({"resourceRules": [about("configmaps")]}, False),
        (
            {"resourceRules": [about()], "excludeResourceRules": [about(operations=["DELETE"])]},
            True,
        ),
        (
            {"resourceRules": [about()], "excludeResourceRules": [about(operations=["CREATE"])]},
            False,
        ),
    ],
)
def test_operations_do_not_matter(constraints: Body, matches: bool) -> None:
    assert (said(deleting(matchConstraints=constraints)) is not None) is matches


@from_table("requirement", "labels", "matches")
def test_selectors_are_asked_about_the_object_alone(
    requirement: Body, labels: Body, matches: bool
) -> None:
    selector = {"matchExpressions": [{"key": "team", **requirement}]}
    found = deleting(matchConstraints={"resourceRules": [about()], "objectSelector": selector})
    assert (said(found, pod(labels=labels)) is not None) is matches


def test_a_namespace_is_in_itself() -> None:
    found = deleting(
        "namespaceObject.metadata.labels.env == 'x'",
        matchConstraints={"resourceRules": [about("namespaces")]},
    )
    assert said(found, TEAM) == MATCHED


@pytest.mark.parametrize(
    "given",
    [
        exception(kind="DeletingPolicy"),
        exception(kind="DeletingPolicy", reportResult="pass", images=["x"]),
    ],
)
def test_what_is_excepted_stays(given: Any) -> None:
    assert said(deleting(), None, given) == UNMATCHED


@from_table("schedule", "message")
def test_a_schedule_that_is_none(schedule: str, message: str) -> None:
    found = read_deleting_policy(deleting(schedule=schedule))
    assert found.schedule is None
    assert [message in one.message for one in found.diagnostics] == [True]
