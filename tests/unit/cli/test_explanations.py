"""`chartkit explain` and its page, from the modules that declare ids."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import chartkit
from chartkit.cli.explain import as_rows, as_text, explanation, explanations
from chartkit.errors import InputError
from chartkit.model import Explanation
from chartkit.values.lint.rule import Rule
from chartkit.values.lint.rules import RULES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lint.md"
GROUPS = {
    "CK1": "Versions, availability, files",
    "CK5": "Policy libraries",
    "CK6": "The gate of a scan",
}
"""The topics of the ids that are not about values, by how they begin."""
MARK = "<!-- Written from the declarations: pytest --update-golden. Not by hand. -->\n"


def test_every_id_in_the_source_is_explained_once() -> None:
    sources = Path(chartkit.__file__).parent.rglob("*.py")
    named = {name for file in sources for name in re.findall(r'"(CK\d{3})"', file.read_text())}
    assert Counter(each.rule_id for each in explanations()) == Counter(named)


def test_every_declared_fix_is_explained() -> None:
    assert {rule.id for rule in RULES if type(rule).fix is not Rule.fix} == {
        each.rule_id for each in explanations() if each.fix
    }


def test_explain_shows_one_id_or_lists_all() -> None:
    assert explanation("ck113").rule_id == "CK113"
    assert "Why: " in as_text(explanation("CK113"))
    assert "Fix: " in as_text(explanation("CK007"))
    assert "Problematic:\n    policyExceptions:" in as_text(explanation("CK007"))
    rows = as_rows()
    assert rows == sorted(rows)
    assert len(rows) == len(list(explanations()))
    with pytest.raises(InputError, match="there is no finding 'CK999'"):
        explanation("CK999")


def test_the_page_of_lint_rules_is_written_from_the_declarations(
    request: pytest.FixtureRequest,
) -> None:
    written, mark, listed = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{written}{MARK}\n{page()}", "utf-8")
        return
    assert listed == f"\n{page()}"


def page() -> str:
    """Every id in Markdown."""
    parts = ["## Values of the charts\n"]
    in_order = sorted(explanations(), key=lambda each: each.rule_id)
    parts += [rule(each) for each in in_order if each.example]
    for start, title in GROUPS.items():
        rows = [each for each in in_order if each.rule_id.startswith(start) and not each.example]
        parts += [f"## {title}\n", "| id | what | why | what to do |", "|---|---|---|---|"]
        parts += [f"| {each.rule_id} | {each.what} | {each.why} | {each.do} |" for each in rows]
        parts.append("")
    return "\n".join(parts)


def rule(each: Explanation) -> str:
    """One rule of values, with its example."""
    problematic, correct = each.example or ("", "")
    fix = f"\n\n`--fix`: {each.fix[0].lower()}{each.fix[1:]}" if each.fix else ""
    examples = f"```yaml\n# problematic\n{problematic}```\n\n```yaml\n# correct\n{correct}```\n"
    return f"### {each.rule_id}\n\n{each.what} {each.why}\n\n{each.do}{fix}\n\n{examples}"
