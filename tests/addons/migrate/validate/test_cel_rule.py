"""`validate.cel` with parameters: they become a variable of the new policy."""

from typing import Any

import pytest
import yaml

from chartkit.addons.migrate.convert import convert
from chartkit.engine import Request, compile_any, evaluate, sorted_out
from chartkit.engine.cli_files.world import ObjectApi, UserApi
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.model import Body, Resource, Status
from tests.data import from_table
from tests.objects import api_object

_MOST = "{name: limits, namespace: x, parameterNotFoundAction: Deny}"


def _policy(reference: str, expression: str, conditions: str = "[]") -> Resource:
    cel: Body = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "paramRef": yaml.safe_load(reference),
        "variables": [{"name": "most", "expression": "int(params.data.most)"}],
        "expressions": [
            {"expression": expression, "messageExpression": "'of ' + params.data.most"}
        ],
    }
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Service"], "operations": ["CREATE"]}}]},
        "celPreconditions": yaml.safe_load(conditions),
        "validate": {"message": "the params are these", "cel": cel},
    }
    spec = {"background": False, "rules": [rule]}
    return Resource(api_object("kyverno.io/v1", "ClusterPolicy", "p", spec=spec))


def _answers(documents: list[Resource], **data: Any) -> list[tuple[Status, str]]:
    metadata = {"name": "limits", "namespace": "x"}
    there = [api_object("v1", "ConfigMap", metadata, data=data)] if data else []
    world = World(UserApi(Cluster(there), ObjectApi(there)))
    admitting, _ = sorted_out(map(compile_any, documents))
    service = api_object("v1", "Service", {"name": "s", "namespace": "x"}, spec={"ports": []})
    results = evaluate(admitting, Request(Resource(service)), world)
    return [(result.status, result.message) for result in results]


@pytest.mark.parametrize("namespace", [", namespace: x", ""])
def test_parameters_are_read_as_a_variable(namespace: str) -> None:
    reference = _MOST.replace(", namespace: x", namespace)
    legacy = _policy(reference, "size(object.spec.ports) >= variables.most")
    documents = [Resource(body) for body in convert(legacy).documents]
    for most, status in (("0", Status.PASS), ("1", Status.FAIL)):
        ((old, message),) = _answers([legacy], most=most)
        ((new, now),) = _answers(documents, most=most)
        assert (old, new) == (status, status)
        assert status is Status.PASS or message == now == f"of {most}"
    ((old, _),), ((new, _),) = _answers([legacy]), _answers(documents)
    assert old is new is Status.ERROR


@from_table("reference", "conditions", "reason")
def test_parameters_without_a_form(reference: str, conditions: str, reason: str) -> None:
    legacy = _policy(reference, "true", conditions)
    assert reason in convert(legacy).outcomes[0].reason
