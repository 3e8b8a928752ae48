"""Rules for policies: their examples, faults of real policies, levels, chartkit's own format."""

from pathlib import Path
from shutil import copytree

import pytest

from chartkit.bundled import library_dir
from chartkit.catalog.authoring.lint import lint_policies
from chartkit.catalog.policy_lint import rules
from chartkit.catalog.policy_lint.findings import levels
from chartkit.catalog.policy_lint.rule import PolicyRule
from chartkit.catalog.policy_lint.rules import RULES
from chartkit.catalog.policy_lint.rules.patterns import half_anchor
from chartkit.errors import ChartkitError
from chartkit.model import Severity
from chartkit.project.project import read_project
from chartkit.registration import declarations, modules
from tests.data import beside, from_table, tables
from tests.unit.catalog.policy_lint.linting import as_policy, lint


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


FAULTS = Path(__file__).with_name("faults")
NAMED = tables(__file__)["named"]


@pytest.mark.parametrize("name", sorted(path.stem for path in FAULTS.glob("*.yaml")))
def test_a_fault_is_named_at_its_line(name: str) -> None:
    found = []
    for each in lint_policies([str(FAULTS / f"{name}.yaml")]).diagnostics:
        assert each.location is not None
        found.append((each.location.line, f"{each.location.column} {each.rule_id}"))
    assert [f"{line}:{rest}" for line, rest in sorted(found)] == NAMED[name]


PROJECT = beside(__file__)["project"]


@pytest.mark.parametrize(
    ("project", "dev", "environment", "wanted"),
    [
        ("error", "note", None, Severity.ERROR),
        ("error", "note", "dev", Severity.NOTE),
        ("error", "note", "qa", Severity.NOTE),
        ("error", "note", "prd", Severity.ERROR),
        ("warning", "off", "dev", None),
        ("warning", '"off"', "dev", None),
        ("off", "error", "prd", None),
    ],
)
def test_the_environment_goes_over_the_project(
    tmp_path: Path, project: str, dev: str, environment: str | None, wanted: Severity | None
) -> None:
    text = PROJECT.replace("PROJECT", project).replace("DEV", dev)
    (tmp_path / "chartkit.yaml").write_text(text)
    (tmp_path / "policy.yaml").write_text(as_policy(half_anchor.problematic))
    given = levels(read_project(tmp_path), environment)
    found = lint_policies([str(tmp_path / "policy.yaml")], levels=given).diagnostics
    assert [each.severity for each in found] == ([] if wanted is None else [wanted])


@from_table("lint", "wanted")
def test_a_mistake_in_the_project_has_its_line(tmp_path: Path, lint: str, wanted: str) -> None:
    text = PROJECT.replace("{CK701: PROJECT}", lint).replace("DEV", "note")
    (tmp_path / "chartkit.yaml").write_text(text)
    with pytest.raises(ChartkitError) as error:
        levels(read_project(tmp_path))
    assert wanted in str(error.value)
    assert "chartkit.yaml:1:" in str(error.value)


NAME = "baseline/disallow-host-namespaces"


def test_a_policy_in_chartkits_own_format(tmp_path: Path) -> None:
    folder = copytree(library_dir() / NAME, tmp_path / "policies" / NAME)
    source = folder / "policy.yaml"
    source.write_text(source.read_text("utf-8").replace("hostPID", "hostPDI"), "utf-8")
    levels = {"CK702": Severity.NOTE}
    found = lint_policies([str(tmp_path / "policies")], levels=levels).diagnostics
    (named,) = (each for each in found if each.rule_id == "CK702")
    assert named.severity is Severity.NOTE
    assert named.location is not None
    assert named.location.file == str(source)
