"""Rules about Pods are extended to their controllers as Kyverno extends them."""

import pytest

from chartkit.engine.kubernetes.kinds import CONTROLLERS
from chartkit.model import Body
from tests.addons.migrate.mutate.forms import assert_same, documents, pod, policy

_LABEL = "patchStrategicMerge: {metadata: {labels: {+(a): b}}}"
_EVERY = """
foreach:
  - list: request.object.spec.containers
    patchStrategicMerge: {spec: {containers: [{(name): "{{element.name}}", tty: null}]}}
  - list: request.object.spec.[initContainers, containers][]
    patchStrategicMerge: {metadata: {annotations: {"+(x/{{element.name}})": "y"}}}
"""
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
