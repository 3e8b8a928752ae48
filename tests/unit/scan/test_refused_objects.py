"""Objects that rules make and no API server takes."""

from typing import Any

import pytest

from chartkit.engine.kubernetes.field_faults import field_faults, type_faults
from chartkit.model import Body, Resource, RuleResult, RuleType, Status
from chartkit.scan.run import with_refusals
from tests.data import from_table


def _pod(**spec: Any) -> Body:
    metadata = {"name": "p", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _mutated(body: Body | None, **made: Any) -> RuleResult:
    return RuleResult("p", "r", RuleType.MUTATION, Status.PASS, "m", patched=body, **made)


@from_table("spec", "faults")
def test_types_of_a_kind(spec: Body, faults: list[str]) -> None:
    assert list(type_faults(_pod(**spec))) == faults


@from_table("spec", "shown", "path", "hint")
def test_unknown_fields_of_a_kind(
    spec: Body, shown: str, path: list[str | int], hint: str | None
) -> None:
    meant = hint and f"did you mean '{hint}'?"
    problem = "is not a field of Kubernetes 1.37"
    assert field_faults(_pod(**spec)) == [(tuple(path), shown, problem, meant, True)]


def test_a_schema_in_a_schema_and_a_status_are_no_faults() -> None:
    schema: Body = {
        "type": "object",
        "properties": {"a": {"properties": {"b": {"x-kubernetes-int-or-string": True}}}},
    }
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    ]
    spec = {
        "group": "a.b",
        "names": {"kind": "A", "plural": "as"},
        "scope": "Cluster",
        "versions": versions,
    }
    api_version = "apiextensions.k8s.io/v1"
    body = {
        "apiVersion": api_version,
        "kind": "CustomResourceDefinition",
        "spec": spec,
        "status": {"x": 1},
    }
    assert field_faults(body) == []
    schema["properties"]["a"]["porperties"] = {}
    assert [fault.path[-3:] for fault in field_faults(body)] == [("properties", "a", "porperties")]


def test_what_is_replaced_before_an_api_server_gets_it_is_no_fault() -> None:
    left = {"sops": {"mac": "x"}, "$patch": "delete"}
    assert not field_faults({**_pod(priority="${priority:=1}"), **left})


def test_other_kinds_have_no_types() -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"replicas": "1"}}
    assert list(type_faults(body)) == []


def test_what_was_wrong_before_is_not_the_rules_doing() -> None:
    before = Resource(_pod(hostPID="true"))
    first = _mutated(_pod(hostPID="true", hostname=5))
    second = _mutated(_pod(hostPID="true", hostname=5, priority=1))
    found = with_refusals(before, [first, second])
    refused = "an API server refuses the object: spec.hostname: is a number, must be a string"
    assert [one.unmade for one in found] == [refused, ""]
    assert [one.status for one in found] == [Status.PASS, Status.PASS]


@pytest.mark.parametrize("field", ["generated", "updated", "patched_target"])
def test_other_objects_that_rules_write(field: str) -> None:
    wrong = _pod(hostIPC=1)
    made: Any = wrong if field == "patched_target" else (wrong,)
    (result,) = with_refusals(Resource(_pod()), [_mutated(None, **{field: made})])
    assert "spec.hostIPC: is a number, must be a boolean" in result.unmade


def test_results_that_make_nothing_are_left_as_they_are() -> None:
    results = [_mutated(None), RuleResult("p", "r", RuleType.VALIDATION, Status.FAIL, "m")]
    assert with_refusals(Resource(_pod(hostPID="x")), results) is results
