"""Match constraints: which requests they speak of, and those that no object can pass."""

from typing import Any

import pytest

from chartkit.engine.cel_policies.checks import refused_by_server
from chartkit.engine.cel_policies.exceptions import read_cel_exception, without_effect
from chartkit.engine.cel_policies.image_host import GlobError, compile_glob
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cel_policies.unmatched import unmatched
from chartkit.engine.cleanup.deleting import read_deleting_policy
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.objects import api_object
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


@from_table("selector", "speaks_of_it")
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


@from_table("requirement", "problem")
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


@from_table("selectors", "said")
def test_selectors_that_no_object_fits(selectors: Body, said: str) -> None:
    found = _said(matchConstraints={"resourceRules": [about("pods")], **selectors})
    assert [said in each for each in found] == ([True] if said else [])


@from_table("resource", "selector", "is_said")
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


@from_table("field", "kind", "is_idle")
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


@from_table("glob", "text", "fits")
def test_globs(glob: str, text: str, fits: bool) -> None:
    assert compile_glob(glob)(text) is fits


@pytest.mark.parametrize("glob", ["[a", "a\\"])
def test_globs_that_end_too_soon(glob: str) -> None:
    with pytest.raises(GlobError, match="unexpected end of input"):
        compile_glob(glob)


_PODS: Body = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
}


def _refusals(expression: str, kind: str = "ValidatingAdmissionPolicy") -> list[str]:
    group = "admissionregistration.k8s.io" if "Admission" in kind else "policies.kyverno.io"
    spec: Body = {"matchConstraints": _PODS, "validations": [{"expression": expression}]}
    body: Body = api_object(f"{group}/v1", kind, "p", spec=spec)
    return [one.message for one in refused_by_server(read_cel_policy(Resource(body)))]


@pytest.mark.parametrize(
    "expression",
    ["object.metadata.?labels.orValue({}).size() > 0", "has(object.spec) && request.name != ''"],
)
def test_what_a_server_takes(expression: str) -> None:
    assert _refusals(expression) == []


KYVERNOS_OWN = 'object.metadata.?labels[?"app"].orValue(null) != ""'


def test_what_kyverno_alone_takes() -> None:
    (message,) = _refusals(KYVERNOS_OWN)
    assert message.startswith("p: spec.validations[0].expression: Invalid value: ")
    assert "found no matching overload for '_!=_'" in message


def test_a_policy_of_kyvernos_own_is_no_servers_matter() -> None:
    assert _refusals(KYVERNOS_OWN, "ValidatingPolicy") == []
