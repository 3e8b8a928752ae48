"""What Kyverno's webhook refuses of policies that compile."""

from dataclasses import replace
from typing import Any

import pytest

from chartkit.engine.cel_policies.checks import cluster_refusals
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cleanup.deleting import read_deleting_policy
from chartkit.errors import CompileError
from chartkit.model import Resource, Severity
from tests.unit.engine.cel_policies.policies import conditions, policy, said, validating, variables

MUTATIONS = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]


def mutating(**spec: Any) -> Resource:
    return policy("MutatingPolicy", mutations=MUTATIONS, **spec)


@pytest.mark.parametrize(
    ("spec", "path", "text"),
    [
        (
            {"evaluation": {"admission": {"enabled": False}}},
            "/spec/evaluation",
            "disabling both admission and mutateExisting evaluation modes is not allowed",
        ),
        (
            {
                "autogen": {"mutatingAdmissionPolicy": {"enabled": True}},
                "variables": variables(a="1"),
                "matchConditions": conditions("true", "variables.a == 1"),
            },
            "/spec/matchConditions/1/expression",
            "spec.matchConditions[1].expression: Forbidden: variables cannot be referenced",
        ),
    ],
)
def test_checks_refused(spec: dict[str, Any], path: str, text: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_cel_policy(mutating(**spec))
    (diagnostic,) = caught.value.diagnostics
    assert text in diagnostic.message
    assert diagnostic.location is not None
    assert (diagnostic.location.line, diagnostic.location.path) == (3, path)


@pytest.mark.parametrize(
    "spec",
    [
        {
            "evaluation": {
                "admission": {"enabled": False},
                "mutateExisting": {"enabled": True},
            }
        },
        {"variables": variables(a="1"), "matchConditions": conditions("variables.a == 1")},
    ],
)
def test_checks_taken(spec: dict[str, Any]) -> None:
    compile_cel_policy(mutating(**spec))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (validating("true", matchConstraints=None), "a matchConstraints with at least one"),
        (validating("true", matchConstraints={"resourceRules": []}), "a matchConstraints with"),
        (
            policy(
                "NamespacedValidatingPolicy",
                metadata={"namespace": "a"},
                validations=[{"expression": "[1].all(x, dyn(http.Get('http://x')).a == x)"}],
            ),
            "spec: Forbidden: http.* is not allowed in namespaced policies",
        ),
        (
            policy(
                "NamespacedMutatingPolicy",
                metadata={"namespace": "a"},
                variables=variables(a="globalContext.get('x')"),
                mutations=[],
            ),
            "spec: Forbidden: globalContext.* is not allowed in namespaced policies",
        ),
        (
            policy(
                "NamespacedGeneratingPolicy",
                metadata={"namespace": "a"},
                generate=[
                    {"template": {"interpolate": "cel", "value": "a: (( http.Get('http://x') ))"}}
                ],
            ),
            "spec: Forbidden: http.* is not allowed in namespaced policies",
        ),
    ],
)
def test_taken_by_the_program_alone(found: Resource, text: str) -> None:
    (warning,) = cluster_refusals(read_cel_policy(found))
    assert warning.severity is Severity.WARNING
    assert text in warning.message
    allowed = replace(read_cel_policy(found), allows_http=True)
    assert bool(cluster_refusals(allowed)) == ("http.*" not in text)


def test_a_policy_that_deletes_is_told_like_any_other() -> None:
    conditions = [{"name": "a", "expression": "http.Get('http://x').ok == true"}]
    found = policy(
        "NamespacedDeletingPolicy",
        metadata={"namespace": "a"},
        schedule="0 0 * * *",
        conditions=conditions,
    )
    (told,) = read_deleting_policy(found).diagnostics
    assert "http.* is not allowed in namespaced policies" in told.message
    assert read_deleting_policy(found, allows_http=True).diagnostics == ()


@pytest.mark.parametrize(
    "found",
    [
        validating("'http'.size() == 4"),
        validating("true", evaluation={"mode": "JSON"}, matchConstraints=None),
        policy("ValidatingAdmissionPolicy", matchConstraints=None, validations=[]),
    ],
)
def test_checks_nothing_to_say(found: Resource) -> None:
    assert cluster_refusals(read_cel_policy(found)) == []


def test_a_policy_of_a_namespace_gets_no_global_context() -> None:
    found = policy(
        "NamespacedValidatingPolicy",
        metadata={"namespace": "default"},
        validations=[{"expression": "globalContext.get('x') == null"}],
    )
    problem = "globalContext.* is not allowed in namespaced policies"
    assert said(found) == ("error", f"error: failed to get global reference: {problem}")
