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
