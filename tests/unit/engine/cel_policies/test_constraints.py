"""Match constraints: which requests they speak of."""

from typing import Any

import pytest

from chartkit.engine.cleanup.deleting import read_deleting_policy
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource
from tests.unit.engine.cel_policies.policies import (
    about,
    deployment,
    pod,
    policy,
    results,
    said,
    validating,
)

TEAM = Resource(
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"e": "p"}}}
)
ANY = about("*", apiGroups=["*"], apiVersions=["*"])


def speaks(constraints: Body, subject: Resource | None = None, **given: Any) -> bool:
    """Whether constraints speak of an object."""
    return bool(results(validating("true", matchConstraints=constraints), subject, **given))


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        (ANY, "pdn"),
        (ANY | {"scope": "Cluster"}, "n"),
        (ANY | {"scope": "Namespaced"}, "pd"),
        (ANY | {"scope": "*"}, "pdn"),
        (ANY | {"resources": ["*/*"]}, "pdn"),
        (ANY | {"resources": ["pods/*", "deployments"]}, "pd"),
        (ANY | {"resources": ["pods/status"]}, ""),
        (ANY | {"resources": ["Pods"]}, ""),
        (ANY | {"operations": []}, ""),
        (ANY | {"operations": ["UPDATE"]}, ""),
        (ANY | {"apiGroups": ["apps"]}, "d"),
        (ANY | {"apiVersions": ["v2"]}, ""),
        (ANY | {"resourceNames": ["team", "other"]}, "n"),
    ],
)
def test_constraints_rules(rule: Body, kinds: str) -> None:
    subjects = {"p": pod(), "d": deployment(), "n": TEAM}
    found = [name for name, one in subjects.items() if speaks({"resourceRules": [rule]}, one)]
    assert "".join(found) == kinds


def test_no_rules_speak_of_everything() -> None:
    assert speaks({"resourceRules": []}, TEAM)


def test_constraints_exclusions() -> None:
    assert not speaks({"resourceRules": [ANY], "excludeResourceRules": [about()]})
    assert speaks({"resourceRules": [ANY], "excludeResourceRules": [about(resourceNames=["x"])]})


@pytest.mark.parametrize(
    ("selector", "speaks_of_it"),
    [
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        # There is no old object, and it has no labels.
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["y"]}]}, True),
    ],
)
def test_object_selectors(selector: Body, speaks_of_it: bool) -> None:
    constraints = {"resourceRules": [ANY], "objectSelector": selector}
    assert speaks(constraints, pod(labels={"app": "web"})) is speaks_of_it


def test_namespace_selectors() -> None:
    wanted = {"matchLabels": {"e": "p"}}
    constraints = {"resourceRules": [ANY], "namespaceSelector": wanted}
    assert not speaks(constraints)
    assert speaks(constraints, namespace_labels={"e": "p"})
    assert speaks(constraints, TEAM)
    named = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    assert speaks({"resourceRules": [ANY], "namespaceSelector": named})


def test_what_stands_outside_namespaces_is_never_left_out() -> None:
    node = Resource({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    selector = {"matchLabels": {"e": "p"}}
    assert speaks({"resourceRules": [ANY], "namespaceSelector": selector}, node)


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        ({"operator": "Bad"}, '"Bad" is not a valid label selector operator'),
        (
            {"operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
    ],
)
def test_a_selector_that_kubernetes_refuses(requirement: Body, problem: str) -> None:
    selector = {"matchExpressions": [{"key": "a", **requirement}]}
    found = validating(
        "true", matchConstraints={"resourceRules": [ANY], "objectSelector": selector}
    )
    expected = f"failed to execute matching: Internal error occurred: {problem}"
    assert said(found) == ("error", expected)


def test_kinds_name_the_policy_where_constraints_cannot_be_asked() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Bad"}]}
    given = {"matchConstraints": {"resourceRules": [ANY], "objectSelector": selector}}
    problem = 'Internal error occurred: "Bad" is not a valid label selector operator'
    (generated,) = results(policy("GeneratingPolicy", generate=[{"expression": "true"}], **given))
    assert (generated.rule, generated.message) == ("p", f"failed to execute matching: {problem}")
    deleting = policy("DeletingPolicy", schedule="* * * * *", conditions=[], **given)
    deleted = read_deleting_policy(deleting).evaluate(Request(pod()))
    assert deleted is not None
    assert (deleted.rule, deleted.message) == ("p", problem)


def test_generated_names_begin_with_a_name() -> None:
    constraints = {"resourceRules": [about(resourceNames=["web-"])]}
    nameless = pod("", generateName="web-x-")
    assert speaks(constraints, nameless)
    assert not speaks(constraints, pod("", generateName="db-"))


@pytest.mark.parametrize("operation", list(Operation))
def test_constraints_operations(operation: Operation) -> None:
    assert speaks({"resourceRules": [about(operations=[str(operation)])]}, operation=operation)


def test_constraints_subresources() -> None:
    scaled = {"resourceRules": [about("pods/status")]}
    assert speaks(scaled, subresource="status")
    assert not speaks({"resourceRules": [about("pods")]}, subresource="status")
