"""`chartkit explain` and its page, from the modules that declare ids."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import chartkit
from chartkit.catalog.policy_lint.rule import PAGE as POLICY_PAGE
from chartkit.catalog.policy_lint.rules import RULES as POLICY_RULES
from chartkit.cli.explain import as_rows, as_text, explanation, explanations
from chartkit.errors import InputError
from chartkit.model import Explanation
from chartkit.values.lint.rule import no_moves
from chartkit.values.lint.rules import RULES

_DOCS = Path(__file__).parents[3]
PAGE = _DOCS / "docs" / "reference" / "lint.md"
GROUPS = {
    "CK1": "Versions, availability, files",
    "CK5": "Policy libraries",
    "CK60": "The gate of a scan",
    "CK61": "Kyverno in Argo CD and Flux",
    "": "Ids that are words",
}
"""The topics of the ids that are not about values, by how they begin."""
POLICY_GROUPS = {
    ("CK70", "CK71"): "Without effect, or not what the text says",
    ("CK72",): "Refused by Kyverno or the API server",
    ("CK73",): "Expressions and templates",
    ("CK74",): "Burdens of a cluster",
    ("CK75",): "Policies together",
}
"""The topics of the ids about policies, by how they begin."""
_SOURCE = Path(chartkit.__file__).parent
_CHECKS = {"Row": 1, "rows": 1, "findings": 1}
"""Where calls in `render` have the check."""
MARK = "<!-- Written from the declarations: pytest --update-golden. Not by hand. -->\n"


def test_every_id_in_the_source_is_explained_once() -> None:
    sources = _SOURCE.rglob("*.py")
    named = {name for file in sources for name in re.findall(r'"(CK\d{3})"', file.read_text())}
    explained = Counter(each.rule_id for each in explanations())
    assert {each for each in explained if each.startswith("CK")} == named
    assert set(explained.values()) == {1}
    assert [each for each in _words() if each not in explained] == []


def _words() -> Iterator[str]:
    """Yield the ids of diagnostics, and the checks of render, that are words."""
    for file in sorted(_SOURCE.rglob("*.py")):
        text = file.read_text()
        if "Diagnostic(" not in text and "Row(" not in text and "rows(" not in text:
            continue
        is_check = file.is_relative_to(_SOURCE / "render")
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call):
                continue
            name = ast.unparse(call.func)
            position = {"Diagnostic": 0, **(_CHECKS if is_check else {})}.get(name)
            if position is None or len(call.args) <= position:
                continue
            given = call.args[position]
            if isinstance(given, ast.Name) and given.id.strip("_").isupper():
                module = ".".join(("chartkit", *file.relative_to(_SOURCE).with_suffix("").parts))
                yield getattr(import_module(module.removesuffix(".__init__")), given.id)
            elif isinstance(given, ast.Constant):
                yield str(given.value).partition("/")[0]


def test_every_declared_fix_is_explained() -> None:
    assert {rule.id for rule in RULES if rule.moves is not no_moves} == {
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
    assert explanation("Policy-Misspelt").rule_id == "policy-misspelt"
    with pytest.raises(InputError, match="there is no finding 'CK999'"):
        explanation("CK999")


@pytest.mark.parametrize("of_policies", [False, True])
def test_the_pages_of_lint_rules_are_written_from_the_declarations(
    request: pytest.FixtureRequest, of_policies: bool
) -> None:
    file, wanted = (_DOCS / POLICY_PAGE, policy_page()) if of_policies else (PAGE, page())
    written, mark, listed = file.read_text("utf-8").partition(MARK)
    assert mark
    if request.config.getoption("--update-golden"):
        file.write_text(f"{written}{MARK}\n{wanted}", "utf-8")
        return
    assert listed == f"\n{wanted}"


def policy_page() -> str:
    """The rules for policies in Markdown, by group."""
    parts = []
    for start, title in POLICY_GROUPS.items():
        of_group = [each for each in explanations() if each.page and each.rule_id.startswith(start)]
        if of_group:
            parts += [f"## {title}\n", *map(rule, of_group)]
    text = "\n".join(parts)
    assert len(re.findall("(?m)^### ", text)) == len(POLICY_RULES)
    return text.rstrip("\n") + "\n"


def page() -> str:
    """Every other id in Markdown."""
    parts = ["## Values of the charts\n"]
    in_order = sorted((each for each in explanations() if not each.page), key=lambda e: e.rule_id)
    parts += [rule(each) for each in in_order if each.example]
    named = [each for each in in_order if not each.rule_id.startswith("CK")]
    for start, title in GROUPS.items():
        others = [each for each in in_order if each.rule_id.startswith(start)]
        rows = [each for each in others if not each.example] if start else named
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
