"""Documents of CEL policies: which are read, and what their definitions refuse."""

from typing import Any

import pytest

from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.kubernetes.kinds import CelKind, is_binding, is_cel_policy
from chartkit.errors import CompileError
from chartkit.model import Resource
from tests.unit.engine.cel_policies.policies import conditions, policy, validating, variables


@pytest.mark.parametrize(
    ("api_version", "kind", "is_one"),
    [
        ("policies.kyverno.io/v1", "ValidatingPolicy", True),
        ("policies.kyverno.io/v1beta1", "NamespacedDeletingPolicy", True),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", True),
        ("policies.kyverno.io/v1", "ValidatingAdmissionPolicy", False),
        ("policies.kyverno.io/v1", "PolicyException", False),
        ("kyverno.io/v1", "ClusterPolicy", False),
    ],
)
def test_which_documents_are_policies(api_version: str, kind: str, is_one: bool) -> None:
    assert is_cel_policy(Resource({"apiVersion": api_version, "kind": kind})) is is_one


def test_cel_policy_reader_bindings() -> None:
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
    }
    assert is_binding(Resource(body))
    assert not is_binding(Resource({**body, "apiVersion": "policies.kyverno.io/v1"}))


def test_cel_policy_reader_parts() -> None:
    found = read_cel_policy(
        validating(
            "true",
            variables=variables(a="1"),
            matchConditions=conditions("true"),
            failurePolicy="Ignore",
            validationActions=["Audit"],
            evaluation={"admission": {"enabled": False}},
        )
    )
    assert (found.kind, found.key) == (CelKind.VALIDATING, "p")
    assert found.ignores_errors
    assert found.actions == ("Audit",)
    assert (found.admission, found.background, found.json) == (False, True, False)
    assert found.controllers == ()


def test_names_in_namespaces() -> None:
    own = policy("NamespacedMutatingPolicy", metadata={"namespace": "team"}, mutations=[])
    assert read_cel_policy(own).key == "team/p"
    assert read_cel_policy(policy(metadata={"namespace": "x"}, validations=[])).key == "p"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"failurePolicy": "Bad"}, 'Unsupported value: "Bad"'),
        ({"validationActions": ["Deny", "Deny"]}, "Duplicate value"),
        ({"variables": variables(a="1") * 2}, "Duplicate value"),
        ({"matchConditions": conditions("true") * 2}, "Duplicate value"),
        ({"nope": 1}, "unknown field"),
        ({"variables": 1}, "spec.variables"),
    ],
)
def test_cel_policy_reader_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        read_cel_policy(validating("true", **given))
    assert problem in caught.value.diagnostics[0].message


def test_cel_policy_reader_versions_that_are_not_served() -> None:
    body = {**validating("true").body, "apiVersion": "policies.kyverno.io/v2"}
    with pytest.raises(CompileError, match="does not serve"):
        read_cel_policy(Resource(body))


@pytest.mark.parametrize("mode", ["HTTP", "Envoy"])
@pytest.mark.parametrize("expression", ["true", "envoy.Denied(403).Response()", "nope("])
def test_modes_of_another_program(mode: str, expression: str) -> None:
    """The mode is named, and no expression that only the other program understands."""
    found = policy(
        "ValidatingPolicy",
        evaluation={"mode": mode},
        validations=[{"expression": expression}],
    )
    with pytest.raises(CompileError) as caught:
        read_cel_policy(found)
    (refused,) = caught.value.diagnostics
    assert refused.message == f"spec.evaluation.mode: {mode} is not evaluated"
    assert "authorization server" in (refused.hint or "")
