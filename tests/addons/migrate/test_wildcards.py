"""A `*` of a role means everything, and conditions take it for a pattern: both forms agree."""

import pytest

from tests.addons.migrate.conversions import converted, deny, same_result
from tests.data import from_table

_VERBS = "{{ request.object.rules[].verbs[] }}"
_FIRST = "{{ request.object.rules[0].verbs }}"


@pytest.mark.parametrize("verbs", [["*"], ["get"], ["bind"], ["getx", "*"], ["list"]])
@pytest.mark.parametrize("operator", ["AnyIn", "AllIn", "AnyNotIn", "AllNotIn"])
@from_table("key", "value")
def test_a_star_of_a_role(key: str, operator: str, value: str, verbs: list[str]) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    same_result(deny(key, operator, value), {**body, "metadata": {"name": "r"}, "rules": rules})


@from_table("value", "test")
def test_it_reads_as_a_person_would_write_it(value: str, test: str) -> None:
    (expression,) = converted(deny(_VERBS, "AnyIn", value), "Role").expressions
    assert test in expression
