"""Rules that read the request beside its object."""

import pytest

from tests.addons.migrate.conversions import deny, proved


@pytest.mark.parametrize(
    ("key", "value", "expression"),
    [
        ("request.dryRun", "true", "!request.dryRun"),
        ("request.subResource || ''", "scale", "request.?subResource.orValue('') != 'scale'"),
        ("request.resource.resource", "configmaps", "request.resource.resource != 'configmaps'"),
    ],
)
def test_fields_of_a_request(key: str, value: str, expression: str) -> None:
    found = proved(deny(f"{{{{ {key} }}}}", "Equals", value))
    assert found.reason == ""
    assert found.expressions == [expression]


@pytest.mark.parametrize(
    ("key", "bindings"),
    [
        ("request.clusterRoles", "clusterrolebindings"),
        ("request.roles", "rolebindings"),
    ],
)
def test_roles_of_a_user_are_those_that_bindings_give(key: str, bindings: str) -> None:
    role = "'x:admin'" if key == "request.roles" else "admin"
    found = proved(deny(f"{{{{ {key} }}}}", "AnyIn", f"[{role}]"))
    assert found.reason == ""
    (expression,) = found.expressions
    assert f"'{bindings}'" in expression


def test_subresources_that_carry_the_object_have_its_fields() -> None:
    found = proved(
        deny("{{ request.object.spec.hostNetwork || `false` }}", "Equals", "true"),
        "Pod, Pod/ephemeralcontainers",
    )
    assert found.reason == ""
    assert found.expressions == ["!object.spec.?hostNetwork.orValue(false)"]
    first, second = (body["spec"] for body in found.documents)
    about = [spec["matchConstraints"]["resourceRules"][0]["resources"] for spec in (first, second)]
    assert about == [["pods"], ["pods/ephemeralcontainers"]]
    assert first["autogen"]["podControllers"]["controllers"] == []
    assert second["evaluation"]["background"]["enabled"] is False


def test_keys_of_labels_may_have_variables() -> None:
    pattern = "{metadata: {labels: {'{{ request.namespace }}/team': '?*'}}}"
    found = proved(f"validate: {{message: m, pattern: {pattern}}}")
    assert found.expressions == [
        "object.metadata.?labels[?request.namespace + '/team'].orValue('') != ''"
    ]


def test_a_list_that_is_null_in_a_pattern_has_nothing() -> None:
    found = proved("validate: {message: m, pattern: {spec: {hostAliases: null}}}", "Pod")
    assert found.expressions == [
        "!has(object.spec.hostAliases) || object.spec.hostAliases.all(item, false)"
    ]


def test_what_a_function_cannot_take_is_an_error_before_the_rest_is_asked() -> None:
    query = "request.object.rules[?contains(apiGroups, '*') && contains(verbs, '*')] | length(@)"
    found = proved(deny(f"{{{{ {query} }}}}", "GreaterThan", "0"), "ClusterRole")
    assert "'*' in rule.apiGroups ? !('*' in rule.verbs) : true" in found.expressions[0]


def test_a_number_of_nothing_is_null() -> None:
    query = "to_number(request.object.metadata.annotations.most)"
    assert proved(deny(f"{{{{ {query} }}}}", "GreaterThan", "5")).reason == ""


def test_numbers_of_objects_are_whole_for_arithmetic() -> None:
    query = "modulo(request.object.spec.replicas, `2`)"
    found = proved(deny(f"{{{{ {query} }}}}", "Equals", "0"), "Deployment")
    assert found.expressions == ["int(object.spec.replicas) % 2 != 0"]
