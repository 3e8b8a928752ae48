"""Filters of ClusterPolicies that no object can pass."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.unmatched import unmatched
from chartkit.engine.kubernetes.kinds import CustomNames, scope_of
from chartkit.model import Body
from tests.data import from_table, tables
from tests.unit.engine.policies import policy_resource, rule

_TABLES = tables(__file__)

SCOPES = scope_of(CustomNames({("example.com", "Goose"): False}))


def _said(block: str = "match", **resources: Any) -> list[str]:
    one: Body = {"resources": {"kinds": ["Pod"], **resources}}
    body = {**rule(kinds=("Secret",)), block: {"any": [one]}}
    compiled = compile_policy(policy_resource(body, background=False), (), SCOPES)
    return [each.message for each in unmatched(compiled.policy, SCOPES) if each.hint]


@from_table("kind", "said")
def test_kinds_in_groups_and_versions_without_them(kind: str, said: str) -> None:
    found = _said(kinds=[kind])
    assert [said in each for each in found] == ([True] if said else [])
    assert all(each.endswith(": the rule matches none") for each in found)


@from_table("selector", "said")
def test_selectors_that_no_labels_fit(selector: Body, said: str) -> None:
    found = _said(namespaceSelector=selector)
    assert [said in each for each in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("resources", "said"), _TABLES["test_namespaces_that_no_object_is_in-cases"]
)
@pytest.mark.parametrize("block", ["match", "exclude"])
def test_namespaces_that_no_object_is_in(resources: Body, said: str, block: str) -> None:
    found = _said(block, **resources)
    assert [said in each for each in found] == ([True] if said else [])
    end = "the rule matches none" if block == "match" else "it excludes none"
    assert all(each.endswith(end) for each in found)
