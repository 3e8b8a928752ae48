"""Context entries become variables, in match conditions the expressions themselves."""

import pytest

from tests.addons.migrate.conversions import converted, proved
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
    ("value", "expressions"),
    [
        (
            "length(request.object.spec.containers)",
            ["variables.x != 3", "object.metadata.name != 'a'"],
        ),
        (
            "length(request.object.spec.volumes)",
            ["variables.x == 3 ? false : object.metadata.name != 'a'"],
        ),
        (
            "request.object.spec.activeDeadlineSeconds",
            ["variables.x == 3 ? false : object.metadata.name != 'a'"],
        ),
    ],
)
def test_only_a_variable_that_may_fail_ends_a_search(value: str, expressions: list[str]) -> None:
    rule = f"""
context: [{{name: x, variable: {{jmesPath: {value}}}}}]
validate:
  message: m
  deny:
    conditions:
      any:
        - {{key: '{{{{ x }}}}', operator: Equals, value: 3}}
        - {{key: '{{{{ request.object.metadata.name }}}}', operator: Equals, value: a}}
"""
    assert converted(rule, "Pod").expressions == expressions


@from_table("entry", "reason")
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


def test_what_an_api_call_finds_is_null_where_there_is_nothing() -> None:
    call = "urlPath: /api/v1/namespaces/a/configmaps/b, jmesPath: data.x, default: none"
    found = converted(_entry(f"apiCall: {{{call}}}"))
    assert found.variables == {
        "x": "dyn(resource.Get('v1', 'configmaps', 'a', 'b'))",
        "x2": "variables.x != null ? variables.x.data.x : 'none'",
    }


def test_a_default_counts_where_an_entry_before_fails() -> None:
    rule = """
context:
  - {name: args, variable: {jmesPath: 'request.object.spec.containers[0].args'}}
  - {name: x, variable: {jmesPath: "args[?starts_with(@, '--a=')] | [0]", default: none}}
"""
    found = converted(rule + _DENY.replace("KEY", "'{{ x }}'"), "Pod")
    assert found.variables == {
        "x": "object.spec.containers[0].?args.orValue([])"
        ".filter(arg, arg.startsWith('--a='))[?0].orValue('none')"
    }


def test_a_field_of_an_element_that_is_there_must_be_there() -> None:
    key = "'{{ request.object.spec.containers[0].image }}'"
    (expression,) = converted(_DENY.replace("KEY", key), "Pod").expressions
    assert expression == ("object.spec.containers[0].image != 'yes-it-is'")


def test_a_variable_without_a_default_must_have_a_value() -> None:
    found = converted(_entry("variable: {jmesPath: 'request.object.metadata.finalizers[0]'}"))
    assert found.variables == {"x": "object.metadata.finalizers[0]"}


@pytest.mark.parametrize(
    ("query", "is_needed"),
    [("x", True), ("element.name || x", True), ("element.x", False), ("element.xname", False)],
)
def test_an_element_is_passed_over_for_the_variables_that_it_asks_for(
    query: str, is_needed: bool
) -> None:
    rule = f"""
context: [{{name: x, variable: {{jmesPath: request.object.metadata.labels.team}}}}]
validate:
  message: m
  foreach:
    - list: request.object.spec.items
      preconditions: {{all: [{{key: "{{{{ {query} }}}}", operator: Equals, value: x}}]}}
      deny:
        conditions: {{any: [{{key: "{{{{ element.image }}}}", operator: Equals, value: y}}]}}
"""
    found = converted(rule, "Widget")
    assert found.reason == ""
    assert ("labels.?team.hasValue()" in found.expressions[0]) is is_needed


def test_a_wildcard_before_a_variable_counts_in_a_list() -> None:
    rule = """
validate:
  message: m
  deny:
    conditions:
      any:
        - key: '{{ request.object.spec.host }}'
          operator: AnyNotIn
          value: ['*.{{ request.namespace }}.example.com', a.b]
"""
    (expression,) = converted(rule, "example.com/v1/Widget").expressions
    assert expression == (
        "object.spec.host == 'a.b' || "
        "object.spec.host.endsWith('.' + request.namespace + '.example.com')"
    )


def test_two_texts_are_in_order_as_what_they_spell() -> None:
    value = "LessThan, value: '{{ to_upper(request.object.spec.b) }}'"
    rule = _DENY.replace("Equals, value: yes-it-is", value)
    key = "'{{ to_lower(request.object.spec.a) }}'"
    (expression,) = converted(rule.replace("KEY", key), "example.com/v1/Widget").expressions
    assert all(read in expression for read in ("duration(", "quantity(", "semver("))


def test_rules_with_errors_of_functions_and_lists() -> None:
    key = "'{{ add(to_number(request.object.spec.a), `1`) }}'"
    rule = _DENY.replace("Equals, value: yes-it-is", "GreaterThan, value: 5")
    (expression,) = converted(rule.replace("KEY", key), "example.com/v1/Widget").expressions
    assert "double(object.spec.a) : optional.none().value()) + 1.0" in expression
    loop = "validate: {message: m, foreach: [{list: LIST, deny: {}}]}"
    lists = '"request.object.spec.[containers, initContainers || `[]`] | []"'
    (expression,) = converted(loop.replace("LIST", lists), "Pod").expressions
    assert expression.endswith(".all(item, item.all(item2, false))")


def test_a_policy_that_ignores_failures_lets_through_what_it_cannot_evaluate() -> None:
    rule = _DENY.replace("KEY", "'{{ request.object.spec.a }}'")
    ignore = {"failurePolicy": "Ignore", "validationFailureAction": "Enforce"}
    found = converted(rule, "example.com/v1/Widget", spec=ignore)
    assert found.expressions == ["!(object.?spec.?a.hasValue() && object.spec.a == 'yes-it-is')"]


def test_a_default_of_a_list_that_cannot_fail() -> None:
    rule = """
context:
  - {name: args, variable: {jmesPath: "request.object.spec.containers[].[command, args][][]",
     default: []}}
  - {name: x, variable: {jmesPath: "args[?starts_with(@, '--a=')] | [0]", default: none}}
"""
    found = proved(rule + _DENY.replace("KEY", "'{{ x }}'"), "Pod")
    first = "variables.args.filter(arg, arg.startsWith('--a='))[?0].orValue('none')"
    assert found.variables["x"] == first
