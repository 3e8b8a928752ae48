"""Each rule for policies reports its problematic example, and its correct one has no finding."""

from pathlib import Path

import pytest

from chartkit.catalog.policy_lint import rules
from chartkit.catalog.policy_lint.rule import PolicyRule
from chartkit.catalog.policy_lint.rules import RULES
from chartkit.registration import declarations, modules
from tests.unit.catalog.policy_lint.linting import lint


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_for_policies_reports_its_example(tmp_path: Path, rule: PolicyRule) -> None:
    assert rule.id in {each.rule_id for each in lint(tmp_path, rule.problematic, rule)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_correct_example_has_no_finding(tmp_path: Path, rule: PolicyRule) -> None:
    assert lint(tmp_path, rule.correct, rule) == []


def test_each_rule_for_policies_is_declared_once() -> None:
    # Of rules about several policies together only the words are declared.
    declared = [rule.id for rule in RULES if not rule.id.startswith("CK75")]
    found = (declarations(PolicyRule, vars(module)) for module in modules(rules.__name__))
    assert sorted(rule.id for of_module in found for rule in of_module) == declared
    assert len({rule.id for rule in RULES}) == len(RULES)
