"""Lint of policies from text, for the tests of rules."""

from pathlib import Path
from textwrap import indent

from chartkit.catalog.authoring.lint import lint_policies
from chartkit.catalog.policy_lint.rule import PolicyRule
from chartkit.kyverno.versions import parse_release
from chartkit.model import Diagnostic

HEAD = (
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: example}\nspec:\n  rules:\n"
)


def as_policy(text: str) -> str:
    """A policy, or a ClusterPolicy with the one rule that the text is."""
    if text.startswith("apiVersion:"):
        return text
    return HEAD + "  - " + indent(text, "    ").lstrip()


def lint(folder: Path, text: str, rule: PolicyRule | None = None) -> list[Diagnostic]:
    """The findings in a policy, or in one rule of a ClusterPolicy; rule: one that is on, for the
    release of its examples."""
    file = folder / "policy.yaml"
    file.write_text(as_policy(text), "utf-8")
    levels = {rule.id: rule.level} if rule is not None and rule.is_off else {}
    kyverno = parse_release(rule.example_kyverno) if rule is not None else None
    return list(lint_policies([str(file)], levels=levels, kyverno=kyverno).diagnostics)


def marked(text: str) -> list[tuple[int, int]]:
    """The line and column of each `§` in a policy, without which it is linted."""
    return [
        (number, part.index("§") + 1)
        for number, part in enumerate(as_policy(text).splitlines(), 1)
        if "§" in part
    ]
