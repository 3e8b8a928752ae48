"""Context entries become variables, in match conditions the expressions themselves."""

import pytest

from tests.addons.migrate.conversions import converted
from tests.data import from_table

_DENY = """
validate: {message: m, deny: {conditions: {all: [{key: KEY, operator: Equals, value: yes-it-is}]}}}
"""


def _entry(entry: str, key: str = "{{ x }}") -> str:
    return f"context: [{{name: x, {entry}}}]" + _DENY.replace("KEY", f"'{key}'")


@from_table("entry", "key", "expression")
def test_entries(entry: str, key: str, expression: str) -> None:
    found = converted(_entry(entry, key))
    assert found.reason == ""
    assert found.variables == {"x": expression}
    assert "variables.x" in found.expressions[0]


def test_conditions_have_no_variables() -> None:
    rule = (
        "preconditions: {all: [{key: '{{ length(x) }}', operator: GreaterThan, value: 0}]}\n"
        + _entry(
            "apiCall: {urlPath: /api/v1/nodes, jmesPath: 'items[].metadata.name'}",
            "{{ request.name }}",
        )
    )
    found = converted(rule)
    assert found.variables == {}
    assert found.conditions == [
        "dyn(resource.List('v1', 'nodes', '')).items.exists(item, has(item.metadata.name))"
    ]


def test_entries_of_loops_are_bound_where_they_are_named_twice() -> None:
    rule = """
validate:
  message: m
  foreach:
    - list: request.object.spec.containers
      context: [{name: data, imageRegistry: {reference: '{{ element.image }}'}}]
      deny:
        conditions:
          all:
            - {key: '{{ data.registry }}', operator: NotEquals, value: ghcr.io}
            - {key: '{{ data.repository }}', operator: NotEquals, value: a/b}
"""
    (expression,) = converted(rule, "Pod").expressions
    assert expression == (
        "object.spec.containers.all(container, cel.bind(data, image.GetMetadata(container.image), "
        "data.registry != 'ghcr.io' ? data.repository == 'a/b' : true))"
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("apiCall: {urlPath: /version}", "is not a path of a resource"),
        ("apiCall: {urlPath: '/api/v1/pods?limit=1'}", "with the parameters"),
        ("apiCall: {urlPath: '/api/v1/pods?fieldSelector=a%3Db'}", "selected by the field a=b"),
        ("apiCall: {urlPath: '/api/v1/pods?labelSelector=a!%3Db'}", "are selected by"),
        ("apiCall: {urlPath: /api/v1/pods, default: []}", "default of a call"),
        ("variable: {jmesPath: 'base64_decode(request.object.data.a)', default: a}", "may fail"),
    ],
)
def test_entries_without_a_form_are_refused(entry: str, reason: str) -> None:
    assert reason in converted(_entry(entry)).reason


def test_entry_has_a_name_that_a_variable_can_have() -> None:
    named = "context: [{name: ns-roles, variable: {value: '{{request.namespace}}'}}]"
    rule = converted(named + _DENY.replace("KEY", "'{{ \"ns-roles\" }}'"))
    assert rule.variables == {"nsRoles": "request.namespace"}
    reserved = converted(
        _entry("variable: {value: '{{request.namespace}}'}")
        .replace("name: x", "name: namespace")
        .replace("{{ x }}", "{{ namespace }}")
    )
    assert reserved.expressions == ["variables.namespace != 'yes-it-is'"]


def test_labels_of_a_selection_may_be_variables() -> None:
    url = "/api/v1/pods?labelSelector=app={{request.object.data.app}}"
    rule = converted(
        _entry(f"apiCall: {{urlPath: '{url}', jmesPath: 'length(items)'}}", "{{ to_string(x) }}")
    )
    assert rule.variables["x"].startswith("dyn(resource.List('v1', 'pods', '', {'app': object.data")
