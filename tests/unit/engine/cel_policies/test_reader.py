"""Documents of CEL policies: what is read, misspelt or refused, and expressions that fail."""

from dataclasses import replace
from typing import Any

import pytest

from chartkit.engine.cel_policies.checks import cluster_refusals
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cel_policies.unmatched import misspelt_fields
from chartkit.engine.cleanup.deleting import read_deleting_policy
from chartkit.engine.kubernetes.kinds import CelKind, is_binding, is_cel_policy
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, Severity
from tests.data import from_table
from tests.errors import error_of
from tests.objects import api_object
from tests.unit.engine.cel_policies.policies import conditions, policy, said, validating, variables


@from_table("api_version", "kind", "is_one")
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
    error = error_of(CompileError, read_cel_policy, validating("true", **given))
    assert problem in error.diagnostics[0].message


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            policy("DeletingPolicy", schedule="* * * * *", conditions=conditions("true") * 2),
            "spec.conditions: Duplicate value",
        ),
        (policy("GeneratingPolicy", generate=[]), "spec.generate: should have at least 1 items"),
    ],
)
def test_lists_that_the_definition_refuses(given: Resource, problem: str) -> None:
    assert error_of(CompileError, read_cel_policy, given).diagnostics[0].message.startswith(problem)


def test_cel_policy_reader_versions_that_are_not_served() -> None:
    body = {**validating("true").body, "apiVersion": "policies.kyverno.io/v2"}
    with pytest.raises(CompileError, match="does not serve"):
        read_cel_policy(Resource(body))


@pytest.mark.parametrize("mode", ["HTTP", "Envoy"])
@pytest.mark.parametrize("expression", ["true", "envoy.Denied(403).Response()", "nope("])
def test_modes_of_another_program(mode: str, expression: str) -> None:
    """The mode is named, and no expression that only the other program understands."""
    found = policy(
        "ValidatingPolicy", evaluation={"mode": mode}, validations=[{"expression": expression}]
    )
    error = error_of(CompileError, read_cel_policy, found)
    (refused,) = error.diagnostics
    assert refused.message == f"spec.evaluation.mode: {mode} is not evaluated"
    assert "authorization server" in (refused.hint or "")


def _found(expression: str, resource: str = "pods", group: str = "") -> list[tuple[str, str]]:
    rule: Body = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [resource],
    }
    spec: Body = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression}],
    }
    body: Body = api_object("policies.kyverno.io/v1", "ValidatingPolicy", "p", spec=spec)
    found = misspelt_fields(read_cel_policy(Resource(body)))
    assert all(one.severity is Severity.WARNING for one in found)
    return [(one.message, one.hint or "") for one in found]


def test_a_misspelt_field_is_named_with_the_one_that_was_meant() -> None:
    ((message, hint),) = _found("object.spec.containers.all(c, c.imag != '')")
    assert message.startswith("p: spec.validations[0].expression: ")
    assert message.endswith("undefined field 'imag'")
    assert "image" in hint


def test_fields_that_are_there_and_kinds_of_others() -> None:
    assert _found("object.spec.containers.all(c, c.image != '')") == []
    assert _found("object.spec.nope == 1", "widgets", "example.org") == []


def test_audit_annotations_too() -> None:
    rule: Body = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    spec: Body = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "string(object.specs)"}],
    }
    body: Body = api_object("policies.kyverno.io/v1", "ValidatingPolicy", "p", spec=spec)
    (found,) = misspelt_fields(read_cel_policy(Resource(body)))
    assert found.message.startswith("p: spec.auditAnnotations[0].valueExpression: ")


def _mutation(resources: list[str], expression: str) -> list[str]:
    rule: Body = {
        "apiGroups": ["", "apps", "example.org"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": resources,
    }
    spec: Body = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
        ],
    }
    body: Body = api_object("policies.kyverno.io/v1", "MutatingPolicy", "p", spec=spec)
    found = misspelt_fields(read_cel_policy(Resource(body)))
    return [one.message.rpartition(" ")[2] for one in found]


def test_a_field_is_wrong_if_no_matched_kind_has_it() -> None:
    text = "has(object.spec.FIELD) ? Object{} : Object{}"
    assert _mutation(["pods"], text.replace("FIELD", "template")) == ["'template'"]
    assert _mutation(["pods", "deployments"], text.replace("FIELD", "template")) == []
    assert _mutation(["pods", "deployments"], text.replace("FIELD", "nope")) == ["'nope'"] * 2
    assert _mutation(["pods", "widgets"], text.replace("FIELD", "template")) == []


def problems(*expressions: str, **spec: Any) -> list[tuple[str, str]]:
    """Where and what the problems of a policy are."""
    return [
        (one.location.path if one.location else "", one.message.splitlines()[0])
        for one in error_of(CompileError, said, validating(*expressions, **spec)).diagnostics
    ]


def test_all_conditions_and_variables_are_told() -> None:
    found = problems("true", matchConditions=conditions("foo()", "1", "true"))
    assert found == [
        (
            "/spec/matchConditions/0/expression",
            'spec.matchConditions[0].expression: Invalid value: "foo()": '
            "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')",
        ),
        (
            "/spec/matchConditions/1/expression",
            'spec.matchConditions[1].expression: Invalid value: "1": '
            "output is expected to be of type bool",
        ),
    ]
    assert len(problems("true", variables=variables(a="foo()", b="bar()"))) == 2


def test_the_first_validation_ends_it() -> None:
    assert [path for path, _ in problems("foo()", "bar()")] == ["/spec/validations/0/expression"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (
            {"validations": [{"expression": "true", "messageExpression": "1"}]},
            "/spec/validations/0/messageExpression",
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            "/spec/auditAnnotations/0/valueExpression",
        ),
        ({"variables": variables(b="variables.a", a="1")}, "/spec/variables/0/expression"),
        (
            {"variables": variables(a="1"), "matchConditions": conditions("variables.a == 1")},
            "/spec/matchConditions/0/expression",
        ),
    ],
)
def test_expressions_places(given: dict[str, Any], path: str) -> None:
    assert [place for place, _ in problems("true", **given)] == [path]


@pytest.mark.parametrize("text", ["object.metadata.name", "dyn(true)", "1", "variables.none"])
def test_a_validation_is_a_boolean(text: str) -> None:
    assert problems(text)


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
    error = error_of(CompileError, compile_cel_policy, mutating(**spec))
    (diagnostic,) = error.diagnostics
    assert text in diagnostic.message
    assert diagnostic.location is not None
    assert (diagnostic.location.line, diagnostic.location.path) == (3, path)


@pytest.mark.parametrize(
    "spec",
    [
        {"evaluation": {"admission": {"enabled": False}, "mutateExisting": {"enabled": True}}},
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
