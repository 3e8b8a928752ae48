"""`policyType: both`: a ClusterPolicy that acts, and next to it a ValidatingPolicy that reports."""

from copy import deepcopy
from typing import Any

import pytest

from chartkit.errors import RenderError
from chartkit.helm.render import dry_run
from chartkit.model import Body
from tests.policy_forms import CLUSTER, VALIDATING
from tests.policy_forms import render as render_library
from tests.policy_library import library
from tests.unit.charts.policies import test_permissions
from tests.unit.charts.policies.policy_forms import MINE, PLAIN, chart, render

BOTH = "both"
_CPOL, _VPOL = f"ClusterPolicy/{MINE}", f"ValidatingPolicy/{MINE}"
_FILTER = {"any": [{"resources": {"namespaces": ["kube-*"]}}]}
_OVERRIDES = {"all": [{"action": "Audit", "namespaces": ["lab-*"]}]}
_JMESPATH = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}


def _reporting(policy: Body) -> Body:
    made = deepcopy(policy)
    made["spec"] |= {"failurePolicy": "Ignore", "validationActions": ["Audit"]}
    return made


def test_each_policy_of_the_library_comes_as_in_each_form_alone() -> None:
    names: dict[str, Body] = {policy.name: {} for policy in library().policies.values()}
    cluster, cel, both = (render_library(form, names) for form in (CLUSTER, VALIDATING, BOTH))
    doubled = 0
    for name in names:
        expected = [each.body for each in cluster[name]]
        in_cel = [each.body for each in cel[name]]
        if in_cel and all(body["kind"] == VALIDATING for body in in_cel):
            doubled += 1
            expected += map(_reporting, in_cel)
        found = [each.body for each in both[name]]
        assert sorted(found, key=_key) == sorted(expected, key=_key), name
    assert doubled > 50


def _key(body: Body) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"exclude": _FILTER},
        {"policyExclude": {MINE: _FILTER}},
        {"policyExclude": {f"{MINE}-second": _FILTER}},
        {"vpolExclude": {"excludeNamespaces": ["kube-system"]}},
        {"parameters": {"label": "owner"}},
        {"autogenControllers": "Deployment,CronJob"},
        {"background": False},
        {"skipBackgroundRequests": False},
        {"validationFailureAction": "Enforce"},
        {"validationFailureAction": "Enforce", "validationAllowExistingViolations": False},
        {"policyKind": "Policy"},
        {"policies": {MINE: {"action": "Enforce", "failurePolicy": "Fail", "severity": "low"}}},
    ],
)
def test_values_hold_for_both_forms(values: dict[str, Any]) -> None:
    found = render(BOTH, values)
    cluster, cel = render(CLUSTER, values), render(VALIDATING, values)
    assert found == cluster | {key: _reporting(body) for key, body in cel.items()}
    assert len(found) == 2


def test_it_reports_also_where_some_namespaces_have_another_action() -> None:
    values = {"validationFailureAction": "Enforce", "validationFailureActionOverrides": _OVERRIDES}
    found = render(BOTH, values)
    assert found[_CPOL] == render(CLUSTER, values)[_CPOL]
    assert set(found) == {_CPOL, _VPOL}
    assert found[_VPOL]["spec"]["validationActions"] == ["Audit"]
    assert "matchConditions" not in found[_VPOL]["spec"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kyvernoVersion": "1.13"}, "does not serve ValidatingPolicy .1.14"),
        ({"policyPreconditions": {MINE: _JMESPATH}}, "JMESPath"),
        ({"policies": {MINE: {"preconditions": _JMESPATH}}}, "JMESPath"),
        ({"policyExclude": {MINE: {"any": [{"roles": ["a"]}]}}}, "roles"),
        ({"exclude": {"any": [{"clusterRoles": ["a"]}]}}, "roles"),
        ({"policyMatchConditions": {MINE: [{"name": "a", "expression": "true"}]}}, "in CEL"),
        ({"auditAnnotations": {"a": "'b'"}}, "in CEL"),
        ({"vpolExclude": {"matchConditions": [{"name": "a", "expression": "true"}]}}, "in CEL"),
    ],
)
def test_values_that_one_of_the_forms_cannot_hold_are_refused(values: Body, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        render(BOTH, values)


def test_a_policy_without_a_second_form_keeps_what_a_cluster_policy_holds() -> None:
    values = {"policyPreconditions": {PLAIN: _JMESPATH}}
    expected = render(CLUSTER, values, only=PLAIN)
    assert render(BOTH, values, only=PLAIN) == expected
    assert list(expected) == [f"ClusterPolicy/{PLAIN}"]


@pytest.mark.parametrize(
    ("kind", "second"),
    [("ClusterPolicy", "ValidatingPolicy"), ("Policy", "NamespacedValidatingPolicy")],
)
def test_notes_name_the_policies_in_both_forms_and_in_one(kind: str, second: str) -> None:
    values = {"policyType": BOTH, "kyvernoVersion": "1.19", "policyKind": kind}
    notes = " ".join(dry_run(chart(), [values], kube_version="v1.34.0").notes.split())
    assert f"of kind {kind}. Next to these is a {second} of the same name" in notes
    assert f"refuses nothing (1): {MINE} NOTE:" in notes
    assert f"would act twice (1): {PLAIN}" in notes


def _allowed(form: str) -> set[tuple[str, str, str]]:
    """The controllers, resources and verbs of a form's roles."""
    found = test_permissions.roles(test_permissions.render(form))
    rules = [(controller, *rule.split(" ")) for controller, each in found.items() for rule in each]
    return {(controller, on, verb) for controller, on, verbs in rules for verb in verbs.split(",")}


def test_roles_have_what_both_forms_need() -> None:
    scans = {each for each in _allowed(VALIDATING) if each[0] == "reports-controller"}
    assert scans
    assert _allowed(BOTH) >= _allowed(CLUSTER) | scans
    assert _allowed(BOTH) <= _allowed(CLUSTER) | _allowed(VALIDATING)
