"""Faults of real policies, each named at its line."""

from pathlib import Path

import pytest

from chartkit.catalog.authoring.lint import lint_policies

FAULTS = Path(__file__).with_name("faults")
NAMED = {
    "half-an-anchor": ["14:15 CK701"],
    "mutating-types": ["12:52 CK704"],
    "pattern-fields": ["13:13 CK702", "15:17 CK702"],
    "version-not-served": ["8:42 policy-warning"],
    "wrong-group": ["11:21 policy-warning"],
    "lint-no-effect": ["8:21 CK706", "11:54 policy-warning"],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in FAULTS.glob("*.yaml")))
def test_a_fault_is_named_at_its_line(name: str) -> None:
    found = []
    for each in lint_policies([str(FAULTS / f"{name}.yaml")]).diagnostics:
        assert each.location is not None
        found.append((each.location.line, f"{each.location.column} {each.rule_id}"))
    assert [f"{line}:{rest}" for line, rest in sorted(found)] == NAMED[name]
