"""podSecurity rules as a whole: messages, properties, controllers, exceptions, updates."""

import json
from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, RuleResult
from tests.data import from_table
from tests.unit.engine.policies import policy_resource, request, rule

SPEC: Body = {
    "containers": [{"name": "c", "image": "nginx", "securityContext": {"privileged": True}}],
    "hostPID": True,
}
FAILED = "Validation rule 'r' failed. It violates PodSecurity \"baseline:\": "
GROUPS = (
    "(Forbidden reason: host namespaces, field error list: [{0}.hostPID is forbidden, forbidden "
    "values found: true])(Forbidden reason: privileged, field error list: [{0}.containers[0]."
    "securityContext.privileged is forbidden, forbidden values found: true])"
).format


def workload(kind: str = "Pod", spec: Body = SPEC) -> Resource:
    body: Body = {"kind": kind, "metadata": {"name": "a", "namespace": "default"}}
    template: Body = {"spec": {"template": {"spec": spec}}}
    if kind == "Pod":
        return Resource({"apiVersion": "v1", **body, "spec": spec})
    if kind == "CronJob":
        return Resource({"apiVersion": "batch/v1", **body, "spec": {"jobTemplate": template}})
    return Resource({"apiVersion": "apps/v1", **body, **template})


def results(given: Request, *exceptions: Body, **validate: Any) -> list[RuleResult]:
    parts = {"podSecurity": {"level": "baseline"}, **validate}
    read = [read_exception(Resource(one)) for one in exceptions]
    return evaluate([compile_policy(policy_resource(rule(validate=parts)), read)], given)


def exception(name: str, *controls: Body) -> Body:
    spec: Body = {
        "exceptions": [{"policyName": "p", "ruleNames": ["*r"]}],
        "match": {"any": [{"resources": {"kinds": ["Pod", "Deployment"]}}]},
    }
    if controls:
        spec["podSecurity"] = list(controls)
    metadata = {"name": name, "namespace": "ns"}
    head = {"apiVersion": "kyverno.io/v2", "kind": "PolicyException"}
    return {**head, "metadata": metadata, "spec": spec}


HOST = {"controlName": "Host Namespaces"}
PRIVILEGED = {"controlName": "Privileged Containers", "images": ["*"]}


def test_the_message_names_groups_and_the_properties_controls() -> None:
    (result,) = results(request(workload()), message="never shown")
    assert (result.status, result.message) == ("fail", FAILED + GROUPS("spec"))
    controls = json.loads(result.properties["controlsJSON"])
    assert result.properties["controls"] == "hostNamespaces,privileged"
    assert (result.properties["standard"], result.properties["version"]) == ("baseline", "")
    assert controls == [
        {"ID": "hostNamespaces", "Name": "Host Namespaces", "Images": None},
        {"ID": "privileged", "Name": "Privileged Containers", "Images": ["docker.io/nginx:latest"]},
    ]


@from_table("kind", "name", "place")
def test_paths_in_controllers(kind: str, name: str, place: str) -> None:
    (result,) = results(request(workload(kind)))
    assert result.rule == name
    assert result.message == FAILED.replace("'r'", f"'{name}'") + GROUPS(place)


def test_a_pod_that_breaks_nothing_passes() -> None:
    (result,) = results(request(workload(spec={"containers": []})))
    assert (result.status, result.message) == ("pass", "Validation rule 'r' passed.")
    assert result.properties == {}


def test_an_annotation_is_named_as_that_of_a_template() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    pod = workload(spec={"containers": []})
    pod.body["metadata"]["annotations"] = {key: "unconfined"}
    (result,) = results(request(pod))
    assert f"[spec.template.metadata.annotations[{key}] is forbidden" in result.message


@from_table("spec", "message")
def test_wrong_types_are_errors(spec: Any, message: str) -> None:
    (result,) = results(request(workload(spec=spec)))
    assert (result.status, result.message) == (
        "error",
        f"Error while getting new resource: {message}",
    )


def test_other_kinds_are_errors() -> None:
    asked = {"podSecurity": {"level": "baseline"}}
    compiled = compile_policy(policy_resource(rule(kinds=("Service",), validate=asked)))
    service = Resource({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}})
    (result,) = evaluate([compiled], request(service))
    assert result.message == (
        "Error while getting new resource: could not find correct resource type"
    )


def test_podsecurity_rule_nothing_is_said_of_a_deletion() -> None:
    given = request(workload(), operation=Operation.DELETE)
    assert results(given) == []
    assert results(given, exception("e")) == []
    assert results(given, exception("e", HOST)) == []


def test_an_exception_lifts_its_controls() -> None:
    (result,) = results(request(workload()), exception("e", HOST))
    assert result.status == "fail"
    assert result.properties["controls"] == "privileged"
    both = exception("e", HOST), exception("f", PRIVILEGED)
    (result,) = results(request(workload()), *both)
    expected = ("skip", "rule is skipped due to policy exceptions ns/e, ns/f")
    assert (result.status, result.message) == expected
    assert result.properties == {"exceptions": "e,f"}
    (result,) = results(request(workload(spec={"containers": []})), *both)
    assert (result.status, result.properties) == ("pass", {})


def test_an_exception_without_controls_lifts_the_rule() -> None:
    (result,) = results(request(workload()), exception("e", HOST), exception("f"))
    assert (result.status, result.message) == (
        "skip",
        "rule is skipped due to policy exception ns/f",
    )
    assert result.properties == {"exceptions": "f"}


def test_what_failed_before_an_update_is_skipped() -> None:
    given = request(workload(), old=workload(), operation=Operation.UPDATE)
    (result,) = results(given, failureAction="Enforce")
    assert result.status == "skip"
    assert result.message == ("skipping the rule evaluation as pre-existing violations are allowed")
    assert result.properties == {}
    (result,) = results(given, exception("e", HOST), failureAction="Enforce")
    assert result.status == "skip"
    good = workload(spec={"containers": []})
    (result,) = results(
        request(workload(), old=good, operation=Operation.UPDATE), failureAction="Enforce"
    )
    assert result.status == "fail"


def test_a_container_whose_image_is_none_is_named_itself() -> None:
    spec = {"containers": [{"name": "c", "image": "A B", "securityContext": {"privileged": True}}]}
    (result,) = results(request(workload(spec=spec)))
    assert json.loads(result.properties["controlsJSON"])[0]["Images"] == ["c"]


@pytest.mark.parametrize("minor", range(19))
def test_versions_whose_controls_read_annotations_are_refused(minor: int) -> None:
    body = rule("r", ("Pod",))
    del body["validate"]["pattern"]
    body["validate"]["podSecurity"] = {"level": "baseline", "version": f"v1.{minor}"}
    with pytest.raises(CompileError) as refused:
        compile_policy(policy_resource(body))
    (found,) = refused.value.diagnostics
    place = "spec.rules[0].validate.podSecurity.version"
    said = f'{place}: Unsupported value: "v1.{minor}": supported values: "v1.19", "v1.20", '
    assert found.message.startswith(said)
    assert found.message.endswith('"latest"')
