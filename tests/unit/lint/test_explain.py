from __future__ import annotations

import re
from pathlib import Path

import pytest

import chartkit
from chartkit.errors import InputError
from chartkit.lint.explain import as_list, as_page, as_text, explanation, explanations
from chartkit.lint.fixes import FIXES

PAGE = Path(__file__).parents[3] / "docs" / "lint.md"
MARK = "<!-- Written from the explanations: pytest --update-golden. Not by hand. -->\n"


def test_every_id_is_explained() -> None:
    sources = Path(chartkit.__file__).parent.rglob("*.py")
    named = {name for file in sources for name in re.findall(r'"(CK\d{3})"', file.read_text())}
    assert named == set(explanations())


def test_fixes_are_what_is_explained() -> None:
    assert {each.rule_id for each in explanations().values() if each.fix} == set(FIXES)


def test_one() -> None:
    assert explanation("ck113") is explanations()["CK113"]
    assert "Why: " in as_text(explanation("CK113"))
    assert "Fix: " in as_text(explanation("CK007"))
    assert as_list().count("\n") == len(explanations())
    with pytest.raises(InputError, match="there is no finding 'CK999'"):
        explanation("CK999")


def test_page(request: pytest.FixtureRequest) -> None:
    written, mark, listed = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{written}{MARK}\n{as_page()}", "utf-8")
        return
    assert listed == f"\n{as_page()}"
