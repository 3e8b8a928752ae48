from __future__ import annotations

import re
from pathlib import Path

import pytest

import chartkit
from chartkit.errors import InputError
from chartkit.values.lint.explain import Explanation, as_list, as_text, explanation, explanations
from chartkit.values.lint.fixes import FIXES

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "lint.md"
GROUPS = {
    "CK0": "Values of the charts",
    "CK1": "Versions, availability, files",
    "CK5": "Policy libraries",
}
"""What ids are about, by how they begin."""
MARK = "<!-- Written from the explanations: pytest --update-golden. Not by hand. -->\n"


def test_every_id_is_explained() -> None:
    sources = Path(chartkit.__file__).parent.rglob("*.py")
    named = {name for file in sources for name in re.findall(r'"(CK\d{3})"', file.read_text())}
    assert named == set(explanations())


def test_fixes_are_what_is_explained() -> None:
    assert {each.rule_id for each in explanations().values() if each.fix} == set(FIXES)


def test_explain_one() -> None:
    assert explanation("ck113") is explanations()["CK113"]
    assert "Why: " in as_text(explanation("CK113"))
    assert "Fix: " in as_text(explanation("CK007"))
    assert as_list().count("\n") == len(explanations())
    with pytest.raises(InputError, match="there is no finding 'CK999'"):
        explanation("CK999")


def test_explain_page_is_true(request: pytest.FixtureRequest) -> None:
    written, mark, listed = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{written}{MARK}\n{page()}", "utf-8")
        return
    assert listed == f"\n{page()}"


def page() -> str:
    """Every id in Markdown."""
    parts: list[str] = []
    for start, title in GROUPS.items():
        rows = [each for each in explanations().values() if each.rule_id.startswith(start)]
        parts += [f"## {title}\n", "| id | what | why | what to do |", "|---|---|---|---|"]
        parts += [f"| {each.rule_id} | {each.what} | {each.why} | {do(each)} |" for each in rows]
        parts.append("")
    return "\n".join(parts)


def do(each: Explanation) -> str:
    return f"{each.do} `--fix`: {each.fix[0].lower()}{each.fix[1:]}" if each.fix else each.do
