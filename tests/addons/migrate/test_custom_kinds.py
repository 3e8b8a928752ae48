"""Rules about kinds of which no schema is known: what is taken for granted, and proved."""

import pytest

from tests.addons.migrate.conversions import deny, proved

_KIND = "x.example.com/v1/Thing"
_PATTERN = "validate: {message: m, pattern: {spec: {size: '?*'}}}"


@pytest.mark.parametrize(
    ("kind", "condition", "resource"),
    [
        ("*.example.com/*/*", "request.kind.group.endsWith('.example.com')", "*"),
        ("x.example.com/v1*/Thing", "request.kind.version.startsWith('v1')", "things"),
    ],
)
def test_groups_and_versions_with_wildcards_are_tested(
    kind: str, condition: str, resource: str
) -> None:
    found = proved(_PATTERN, f"'{kind}'")
    assert condition in found.conditions[0]
    (named,) = found.spec["matchConstraints"]["resourceRules"]
    assert named["resources"] == [resource]
    assert not {"*.example.com", "v1*"} & {*named["apiGroups"], *named["apiVersions"]}


def test_a_flattened_field_that_is_named_as_lists_are_is_one() -> None:
    found = proved(deny("{{ request.object.spec.rules[?on].values[] }}", "AnyIn", "[a]"), _KIND)
    assert "'a' in rule.?values.orValue([])" in found.expressions[0]


@pytest.mark.parametrize(
    ("field", "pattern", "expected"),
    [
        ("for", "'>=5m'", " : isQuantity(object.?spec.?for.orValue('0'))"),
        ("limits: {cpu", "'<=4'}", "quantity(string(object.spec.limits.?cpu"),
        ("ttl", "'<=720h'", "duration(object.spec.?ttl.orValue('0')) <= duration('720h')"),
    ],
)
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
