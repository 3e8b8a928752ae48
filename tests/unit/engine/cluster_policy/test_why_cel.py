"""What decided the result of CEL in a ClusterPolicy: of `validate.cel` and match conditions."""

from typing import Any

import pytest

from chartkit.documents.reader import read_text
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.engine.responses import explain
from chartkit.engine.why import Decision
from chartkit.model import Resource
from tests.data import beside

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]


def _pod(name: str, namespace: str, **spec: Any) -> Resource:
    metadata = {"name": name, "namespace": namespace}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _deployment(**spec: Any) -> Resource:
    metadata = {"name": "web", "namespace": "shop"}
    template = {"metadata": {"name": "web"}, "spec": spec}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return Resource(body | {"spec": {"template": template}})


ROWS = [
    pytest.param(
        _pod("web", "shop", hostNetwork=True),
        "fail",
        "expression expressions[0] is false: variables.network == false; variables.network is true",
        "variables.network == false",
        "/spec/hostNetwork",
        id="false",
    ),
    pytest.param(
        _pod("web", "shop"),
        "fail",
        "expression expressions[0] has no value: "
        'composited variable "network" fails to evaluate: no such key: hostNetwork',
        "variables.network == false",
        "/spec/hostNetwork",
        id="error",
    ),
    pytest.param(
        _pod("exempt", "shop", hostNetwork=True),
        "skip",
        "preconditions celPrecondition not-exempt is false: "
        'object.metadata.name != "exempt"; object.metadata.name is "exempt"',
        "object.metadata.name != 'exempt'",
        "/metadata/name",
        id="precondition",
    ),
    pytest.param(
        _pod("web", "kube-system", hostNetwork=True),
        None,
        "matchCondition matchCondition not-system is false: "
        'object.metadata.namespace != "kube-system"; object.metadata.namespace is "kube-system"',
        "object.metadata.namespace != 'kube-system'",
        "/metadata/namespace",
        id="webhook",
    ),
    pytest.param(
        _deployment(hostNetwork=True),
        "fail",
        "expression expressions[0] is false: variables.network == false; variables.network is true",
        "expression: variables.network == false",
        "/spec/template/spec/hostNetwork",
        id="form",
    ),
]


@pytest.mark.parametrize(("resource", "status", "why", "at", "field"), ROWS)
def test_what_decides_in_cel_of_cluster_policies(
    resource: Resource, status: str | None, why: str, at: str, field: str
) -> None:
    (document,) = read_text(POLICY, "policy.yaml")
    policy = compile_policy(Resource(document.body, document.location))
    decisions, results = explain([policy], Request(resource))
    assert results == evaluate([policy], Request(resource))
    (found,) = decisions
    decision: Decision = found.decision
    assert (found.status, f"{decision.asked} {decision.text}") == (status, why)
    location = decision.location
    assert location is not None
    assert POLICY.splitlines()[location.line - 1][location.column - 1 :].startswith(at)
    assert decision.pointer == field
