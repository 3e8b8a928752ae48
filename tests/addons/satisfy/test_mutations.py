"""Mutations that undo each other or never settle, and rules that others leave nothing to decide."""

from typing import Any

import pytest
import yaml

from chartkit.addons.satisfy.conflicts import Unapplied, Unsettled, findings, unsettled
from chartkit.addons.satisfy.conflicts.rules import Shadowed, Undecided, shadowed, together
from chartkit.engine import RunnablePolicy, compile_any, sorted_out
from chartkit.model import Resource
from tests.data import tables


def _policies(*rules: dict[str, Any]) -> tuple[RunnablePolicy, ...]:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    named = [{"name": f"r{number}", "match": match, **rule} for number, rule in enumerate(rules)]
    body = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"validationFailureAction": "Enforce", "rules": named},
    }
    return sorted_out([compile_any(Resource(body))])[0]


def _merge(text: str) -> dict[str, Any]:
    return {"mutate": {"patchStrategicMerge": yaml.safe_load(text)}}


_GROWING = tables(__file__)["growing"]
_LABEL = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: %s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: Object.metadata.labels{x: "%s"}}}'
"""
CASES = {
    "undo": ((_merge("{spec: {hostNetwork: true}}"), _merge("{spec: {hostNetwork: false}}")), 2),
    "grow": ((_GROWING,), 1),
    "default": ((_merge("{spec: {+(hostNetwork): true}}"), _merge("{spec: {hostPID: false}}")), 0),
    "same": ((_merge("{spec: {hostNetwork: true}}"), _merge("{spec: {hostNetwork: true}}")), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_mutations_settle_or_are_named(name: str) -> None:
    rules, count = CASES[name]
    found = [each for each in unsettled(_policies(*rules)) if each.kind == "Pod"]
    counts = [len(each.rules) for each in found if isinstance(each, Unsettled)]
    assert counts == ([count] if count else [])


def test_a_finding_names_the_values_as_yaml_has_them() -> None:
    messages = [message for _, _, _, message, _ in findings(_policies(*CASES["undo"][0]))]
    what = "spec.hostNetwork of a Pod becomes true, then false"
    assert messages == [f"p/r0 and p/r1 undo each other: {what}"]
    labels = [compile_any(Resource(yaml.safe_load(_LABEL % (name, name)))) for name in ("a", "b")]
    messages = [message for _, _, _, message, _ in findings(sorted_out(labels)[0])]
    what = "metadata.labels.x of a Pod becomes a, then b"
    assert messages == [f"MutatingPolicy/a and MutatingPolicy/b undo each other: {what}"]


def test_mutations_of_too_many_policies_are_left_out() -> None:
    found = list(unsettled(_policies(_merge("{spec: {hostNetwork: true}}")) * 10_001))
    assert {type(each) for each in found} == {Unapplied}


def test_the_end_of_a_long_list_is_named() -> None:
    rules = (_merge(f"{{metadata: {{labels: {{a: x{number}}}}}}}") for number in range(16))
    found = list(unsettled(_policies(*rules)))
    assert isinstance(found[-1], Unapplied)
    assert 100 <= sum(isinstance(each, Unsettled) for each in found) < 120


_DENIED = {"validate": {"message": "a", "pattern": {"spec": {"=(hostNetwork)": False}}}}


def _labelled(value: bool) -> dict[str, Any]:
    key = "{{ request.object.spec.hostNetwork || `false` }}"
    return {
        "preconditions": {"all": [{"key": key, "operator": "Equals", "value": value}]},
        "validate": {"message": "b", "pattern": {"metadata": {"labels": {"owner": "?*"}}}},
    }


@pytest.mark.parametrize(("value", "count"), [(True, 1), (False, 0)])
def test_a_rule_that_another_leaves_nothing_is_named(value: bool, count: int) -> None:
    found = list(shadowed(together(_policies(_DENIED, _labelled(value)))))
    assert {type(each) for each in found} <= {Shadowed}
    assert [each.rule.rule for each in found if isinstance(each, Shadowed)] == ["r1"] * count


def test_rules_that_are_not_looked_at_are_left_undecided() -> None:
    (left,) = shadowed(together(_policies(_DENIED, _labelled(True)))[:1], steps=1)
    assert isinstance(left, Undecided)
    assert "r1" in {want.rule for want in left.wants}
