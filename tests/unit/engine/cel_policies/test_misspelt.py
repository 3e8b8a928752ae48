from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cel_policies.unmatched import misspelt_fields
from chartkit.model import Body, Resource, Severity


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
    body: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": spec,
    }
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
    body: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": spec,
    }
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
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": expression},
            }
        ],
    }
    body: Body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "MutatingPolicy",
        "metadata": {"name": "p"},
        "spec": spec,
    }
    found = misspelt_fields(read_cel_policy(Resource(body)))
    return [one.message.rpartition(" ")[2] for one in found]


def test_a_field_is_wrong_if_no_matched_kind_has_it() -> None:
    text = "has(object.spec.FIELD) ? Object{} : Object{}"
    assert _mutation(["pods"], text.replace("FIELD", "template")) == ["'template'"]
    assert _mutation(["pods", "deployments"], text.replace("FIELD", "template")) == []
    assert _mutation(["pods", "deployments"], text.replace("FIELD", "nope")) == ["'nope'"] * 2
    assert _mutation(["pods", "widgets"], text.replace("FIELD", "template")) == []
