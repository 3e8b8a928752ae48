"""Policies in chartkit's own format are linted in each form, as their examples fill them in."""

from pathlib import Path
from shutil import copytree

from chartkit.bundled import library_dir
from chartkit.catalog.authoring.lint import lint_policies
from chartkit.model import Severity

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
