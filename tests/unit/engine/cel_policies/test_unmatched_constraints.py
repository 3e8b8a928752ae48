"""Match constraints that no object can pass, and exceptions that have no effect."""

from typing import Any

import pytest

from chartkit.engine.cel_policies.exceptions import read_cel_exception, without_effect
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cel_policies.unmatched import unmatched
from chartkit.model import Body, Resource
from tests.unit.engine.cel_policies.policies import about, policy


def _said(kind: str = "ValidatingPolicy", **spec: Any) -> list[str]:
    parts: Body = {"validations": [{"expression": "true"}], **spec}
    if kind == "ImageValidatingPolicy":
        parts["attestors"] = [{"name": "n", "notary": {"certs": {"value": "x"}}}]
        parts["matchImageReferences"] = [{"glob": "*"}]
    found = unmatched(read_cel_policy(policy(kind, **parts)))
    assert all(each.hint for each in found)
    return [each.message for each in found]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (about("deployments", apiGroups=[""]), "no API server has the resource 'deployments'"),
        (about("pods", apiGroups=["apps"]), "no API server has the resource 'pods'"),
        (about("cronjobs", apiGroups=["batch"], apiVersions=["v1beta1"]), "'cronjobs'"),
        (
            about("cronjobs/status", apiGroups=["batch"], apiVersions=["v1beta1"]),
            "'cronjobs/status'",
        ),
        (about("cronjobs", apiGroups=["batch"], apiVersions=["v1beta1", "v1"]), ""),
        (about("pods", apiGroups=["*"], apiVersions=["v9"]), ""),
        (about("*", apiGroups=["apps"], apiVersions=["v9"]), ""),
        (about("pods", apiGroups=["metrics.k8s.io"], apiVersions=["v1beta1"]), ""),
        (about("pods", scope="Cluster"), "the resources are namespaced: no object matches"),
        (about("nodes", scope="Namespaced"), "the resources are cluster-scoped: no object"),
        (about("nodes", scope="Cluster"), ""),
        (about("geese", scope="Cluster"), ""),
    ],
)
def test_resources_that_no_api_server_has(rule: Body, said: str) -> None:
    found = _said(matchConstraints={"resourceRules": [rule]})
    assert [said in each for each in found] == ([True] if said else [])


def test_a_policy_of_removed_versions_means_them() -> None:
    rule = about("cronjobs", apiGroups=["batch"], apiVersions=["v1beta1"])
    assert not _said(matchConstraints={"matchPolicy": "Exact", "resourceRules": [rule]})


@pytest.mark.parametrize(
    ("selectors", "said"),
    [
        ({"objectSelector": {"matchLabels": {"team": "*"}}}, "no object fits the objectSelector: "),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "no object fits the namespaceSelector: ",
        ),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, ""),
    ],
)
def test_selectors_that_no_object_fits(selectors: Body, said: str) -> None:
    found = _said(matchConstraints={"resourceRules": [about("pods")], **selectors})
    assert [said in each for each in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("resource", "selector", "is_said"),
    [
        ("nodes", {"matchLabels": {"a": "b"}}, True),
        # An API server writes an empty selector where a policy has none.
        ("nodes", {}, False),
        ("namespaces", {"matchLabels": {"a": "b"}}, False),
    ],
)
def test_namespaces_of_cluster_scoped_resources(
    resource: str, selector: Body, is_said: bool
) -> None:
    constraints = {"resourceRules": [about(resource)], "namespaceSelector": selector}
    found = _said(matchConstraints=constraints)
    assert len(found) == is_said
    assert all("namespaceSelector has no effect" in each for each in found)


def test_an_image_policy_that_no_cluster_asks() -> None:
    [said] = _said("ImageValidatingPolicy", matchConstraints={})
    assert "Kyverno accepts it and makes no webhook of it" in said
    assert not _said("ImageValidatingPolicy")
    assert not _said(matchConstraints={})


@pytest.mark.parametrize(
    ("field", "kind", "is_idle"),
    [
        ({"images": ["a:1"]}, "ImageValidatingPolicy", True),
        ({"allowedValues": ["x"]}, "ImageValidatingPolicy", True),
        ({}, "ImageValidatingPolicy", False),
        ({"images": ["a:1"]}, "ValidatingPolicy", False),
    ],
)
def test_exceptions_from_some_images_of_an_image_policy(
    field: Body, kind: str, is_idle: bool
) -> None:
    body: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "n"},
        "spec": {"policyRefs": [{"kind": kind, "name": "p"}], **field},
    }
    parts: Body = {"validations": [{"expression": "true"}]}
    if kind == "ImageValidatingPolicy":
        parts["attestors"] = [{"name": "n", "notary": {"certs": {"value": "x"}}}]
        parts["matchImageReferences"] = [{"glob": "*"}]
    own = read_cel_policy(policy(kind, **parts))
    found = list(without_effect(own, [read_cel_exception(Resource(body))]))
    assert len(found) == is_idle
    assert all(f"n/e has no effect on {kind} p" in each.message for each in found)
