"""Levels of rules in chartkit.yaml, for all environments and for one."""

from pathlib import Path

import pytest

from chartkit.catalog.authoring.lint import lint_policies
from chartkit.catalog.policy_lint.findings import levels
from chartkit.catalog.policy_lint.rules.patterns import half_anchor
from chartkit.errors import ChartkitError
from chartkit.model import Severity
from chartkit.project.project import read_project
from tests.data import from_table
from tests.unit.catalog.policy_lint.linting import as_policy

PROJECT = """\
lint: {CK701: PROJECT}
defaults: {kyverno: "1.19", kubernetes: "1.34"}
environments:
  dev: {lint: {CK701: DEV}}
  qa: {extends: dev}
  prd: {}
"""


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
