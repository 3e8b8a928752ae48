"""Rules that change existing objects, and rules about Pods that reach their controllers."""

from collections.abc import Iterable
from typing import Any

import pytest

from chartkit.addons.migrate.differences import NO_SCANS, POLICY_EVENTS
from chartkit.addons.migrate.proof.requests.cluster import world_of
from chartkit.engine import World
from chartkit.engine.kubernetes.kinds import CONTROLLERS
from chartkit.engine.policies import compile_any, evaluate
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource
from tests.addons.migrate.conversions import Converted, converted
from tests.addons.migrate.mutate.forms import assert_same, documents, pod, policy
from tests.data import beside, from_table
from tests.objects import api_object

_NAMED = (
    "{apiVersion: v1, kind: Secret, name: s, namespace: '{{request.object.metadata.namespace}}'}"
)
_LABELLED = "selector: {matchLabels: {a: b}}"
_LISTED = f"{{apiVersion: v1, kind: Secret, name: 's*', namespace: default, {_LABELLED}}}"
_ASKED = (
    "{apiVersion: v1, kind: Secret, namespace: default, preconditions: {all: "
    "[{key: \"{{ target.metadata.labels.a || '' }}\", operator: Equals, value: b}]}}"
)
_OF_CONTEXT = (
    "{apiVersion: v1, kind: Secret, namespace: default, context: [{name: c, variable: {jmesPath: "
    "target.metadata.name}}], preconditions: {all: [{key: '{{ c }}', operator: Equals, value: s}]}}"
)
_PATCH = "patchStrategicMerge: {metadata: {labels: {+(a): c, of: '{{request.object.data.team}}'}}}"
_TRIGGER: Body = api_object("v1", "ConfigMap", "default/t", data={"team": "core"})


def secret(name: str, **labels: str) -> Body:
    metadata = {"name": name, "namespace": "default", **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


_SECRETS = [secret("s"), secret("s2", a="b"), secret("other", a="b"), secret("s3", a="x")]


def rule(target: str, patch: str = _PATCH, more: str = "") -> Converted:
    return converted(f"mutate: {{{more}targets: [{target}], {patch}}}")


def changed(policies: Iterable[Resource]) -> list[Body]:
    """Return the objects of the cluster that policies change."""
    document = {"object": _TRIGGER, "operation": "CREATE", "cluster": {"v1/secrets": _SECRETS}}
    world = world_of(document, World())
    compiled: list[Any] = [compile_any(each) for each in policies]
    request = Request(Resource(_TRIGGER, Location("t")))
    found = [each.patched_target for each in evaluate(compiled, request, world=world)]
    return sorted((each for each in found if each), key=lambda each: str(each["metadata"]["name"]))


@pytest.mark.parametrize("target", [_NAMED, _LISTED, _ASKED, f"{_NAMED}, {_LISTED}", _OF_CONTEXT])
@pytest.mark.parametrize(
    "patch",
    [
        _PATCH,
        "patchStrategicMerge: {metadata: {labels: {(a): b, c: '{{target.metadata.name}}'}}}",
        "patchesJson6902: '- {op: add, path: /metadata/annotations/x, value: z}'",
    ],
)
def test_both_forms_change_the_same_targets(target: str, patch: str) -> None:
    found = rule(target, patch)
    assert found.reason == ""
    expected = changed([found.legacy])
    assert changed(Resource(each, Location("new")) for each in found.documents) == expected
    assert expected or "(a): b" in patch


def test_targets_come_from_an_expression_that_sees_the_trigger() -> None:
    spec = rule(_NAMED).spec
    assert spec["evaluation"]["mutateExisting"] == {"enabled": True}
    assert spec["targetMatchConstraints"]["expression"] == (
        "resource.Get('v1', 'secrets', request.object.metadata.namespace, 's')"
    )
    assert "request.object.data.team" in spec["mutations"][0]["applyConfiguration"]["expression"]


def test_the_time_at_which_targets_change_is_named() -> None:
    assert POLICY_EVENTS in rule(_NAMED).changes
    assert NO_SCANS in rule(_NAMED, more="mutateExistingOnPolicyUpdate: true, ").changes


@from_table("target", "words")
def test_targets_without_an_equal_are_left(target: str, words: str) -> None:
    assert words in rule(target).reason


_LABEL = "patchStrategicMerge: {metadata: {labels: {+(a): b}}}"
_EVERY = beside(__file__)["every"]
_CLASS = "patchStrategicMerge: {spec: {priorityClassName: high}}"


def controllers() -> list[Body]:
    template = {key: pod("", "{labels: {c: d}}")[key] for key in ("metadata", "spec")}
    made = []
    for each in CONTROLLERS:
        spec: Body = {"template": template}
        if each.kind == "CronJob":
            spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
        version = f"{each.group}/{each.version}" if each.group else each.version
        metadata = {"name": "c", "namespace": "default"}
        made.append({"apiVersion": version, "kind": each.kind, "metadata": metadata, "spec": spec})
    return made


def test_what_kyverno_extends_alike_is_one_policy() -> None:
    (document,) = documents(policy(_CLASS, autogen=None))
    assert "autogen" not in document["spec"]
    extended = [each for each in controllers() if each["kind"] != "ReplicationController"]
    assert_same(policy(_CLASS, autogen=None), [pod(), *extended])


def test_metadata_takes_policies_of_its_own_for_controllers() -> None:
    made = documents(policy(_LABEL, autogen=None))
    assert [each["metadata"]["name"] for each in made] == [
        "change-r",
        "change-autogen-r",
        "change-autogen-cronjob-r",
    ]
    assert made[0]["spec"]["autogen"] == {"podControllers": {"controllers": []}}
    assert_same(policy(_LABEL, autogen=None), [pod(), *controllers()])


@pytest.mark.parametrize("mutate", [_LABEL, _CLASS])
def test_annotations_of_the_policy_name_the_controllers(mutate: str) -> None:
    assert_same(policy(mutate, autogen="Deployment,CronJob"), [pod(), *controllers()])
    assert_same(policy(mutate, autogen="none"), [pod(), *controllers()])


def test_patches_of_every_container_take_policies_of_their_own_for_controllers() -> None:
    assert len(documents(policy(_EVERY, autogen=None))) == 3
    assert_same(policy(_EVERY, autogen=None), [pod(), *controllers()])


def test_braces_in_texts_keep_kyverno_from_extending() -> None:
    mutate = "patchStrategicMerge: {spec: {hostname: 'a}b'}}"
    assert len(documents(policy(mutate, autogen=None))) == 3
    assert_same(policy(mutate, autogen=None), [pod(), *controllers()])


def test_a_target_outside_namespaces_is_read_by_its_name() -> None:
    found = rule("{apiVersion: v1, kind: Namespace, name: '{{ request.namespace }}'}")
    assert found.reason == ""
    constraints = found.documents[0]["spec"]["targetMatchConstraints"]
    assert constraints["expression"] == "resource.Get('v1', 'namespaces', '', request.namespace)"


def test_controllers_of_pods_are_patched_themselves() -> None:
    patch = "patchStrategicMerge: {metadata: {labels: {a: b}}}"
    found = converted(f"mutate: {{targets: [{_NAMED}], {patch}}}", "Pod")
    assert found.reason == ""
    targets = ["targetMatchConstraints" in policy["spec"] for policy in found.documents]
    assert targets == [True, False, False]
