"""Rules about kinds of which no schema is known: what is taken for granted, and proved."""

import pytest

from tests.addons.migrate.conversions import deny, proved
from tests.data import from_table

_KIND = "x.example.com/v1/Thing"


@from_table("kind", "condition", "resource")
def test_groups_and_versions_with_wildcards_are_tested(
    kind: str, condition: str, resource: str
) -> None:
    found = proved("validate: {message: m, pattern: {spec: {size: '?*'}}}", f"'{kind}'")
    assert condition in found.conditions[0]
    (named,) = found.spec["matchConstraints"]["resourceRules"]
    assert named["resources"] == [resource]
    assert not {"*.example.com", "v1*"} & {*named["apiGroups"], *named["apiVersions"]}


def test_a_flattened_field_that_is_named_as_lists_are_is_one() -> None:
    found = proved(deny("{{ request.object.spec.rules[?on].values[] }}", "AnyIn", "[a]"), _KIND)
    assert "'a' in rule.?values.orValue([])" in found.expressions[0]


@from_table("field", "pattern", "expected")
def test_sizes_and_durations_of_unknown_types(field: str, pattern: str, expected: str) -> None:
    found = proved(f"validate: {{message: m, pattern: {{spec: {{{field}: {pattern}}}}}}}", _KIND)
    assert expected in found.expressions[0]


def test_an_element_whose_preconditions_cannot_be_evaluated_is_passed_over() -> None:
    rule = """
    validate:
      message: m
      foreach:
      - list: request.object.spec.listeners
        preconditions:
          any: [{key: "{{ element.protocol }}", operator: AnyIn, value: [HTTPS, TLS]}]
        pattern: {tls: {mode: Terminate}}
    """
    found = proved(rule, _KIND)
    assert (
        "has(listener.protocol) && listener.protocol in ['HTTPS', 'TLS'] ?"
        in (found.expressions[0])
    )


def test_an_object_that_a_precondition_asks_for_as_a_text() -> None:
    rule = """
    preconditions:
      all: [{key: "{{ request.object.spec.sync || '' }}", operator: NotEquals, value: ''}]
    validate: {message: m, pattern: {spec: {sync: {prune: true}}}}
    """
    found = proved(rule, _KIND)
    assert found.conditions == ["object.?spec.?sync.orValue({}).size() > 0"]


@from_table("key", "value")
def test_a_field_of_unknown_type_equals_a_text(key: str, value: str) -> None:
    proved(deny(f"{{{{ {key} }}}}", "NotEquals", value), _KIND)


@from_table("key", "operator", "value")
def test_fields_of_unknown_types_are_in_order(key: str, operator: str, value: str) -> None:
    proved(deny(f"{{{{ {key} }}}}", operator, value), _KIND)


@from_table("query")
def test_lists_of_values_of_unknown_types(query: str) -> None:
    proved(deny(f"{{{{ {query} }}}}", "AnyIn", "[main]"), _KIND)


@pytest.mark.parametrize(
    "name", ["'{{ request.namespace }} | shared'", "'x | *-{{ request.namespace }}-v2'"]
)
def test_alternatives_of_a_pattern_with_variables(name: str) -> None:
    proved(f"validate: {{message: m, pattern: {{spec: {{name: {name}}}}}}}", _KIND)


def test_what_a_function_needs_is_an_error_where_it_is_not_there() -> None:
    rule = deny("{{ request.object.data.keys(@) | length(@) }}", "GreaterThan", "5")
    assert proved(rule).expressions == ["object.data.map(key, key).size() <= 5"]
    rule = deny(
        "{{ parse_json(request.object.data.f).flags[?on == `true`] | length(@) }}",
        "GreaterThan",
        "0",
    )
    proved(rule)
