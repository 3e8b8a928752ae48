"""Rules that change existing objects become policies that an expression gives the targets."""

from collections.abc import Iterable
from typing import Any

import pytest

from chartkit.addons.migrate.differences import NO_SCANS, POLICY_EVENTS
from chartkit.addons.migrate.proof.requests.cluster import world_of
from chartkit.engine import World
from chartkit.engine.policies import compile_any, evaluate
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource
from tests.addons.migrate.conversions import Converted, converted
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


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("{apiVersion: v1, kind: '{{request.object.data.kind}}', name: s}", "not written out"),
    ],
)
def test_targets_without_an_equal_are_left(target: str, words: str) -> None:
    assert words in rule(target).reason
