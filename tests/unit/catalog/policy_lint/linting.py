"""Lint of policies from text, for the tests of rules."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

from chartkit.catalog.authoring.lint import lint_policies
from chartkit.model import Diagnostic

HEAD = (
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: example}\nspec:\n  rules:\n"
)


def as_policy(text: str) -> str:
    """A policy, or a ClusterPolicy with the one rule that the text is."""
    if text.startswith("apiVersion:"):
        return text
    return HEAD + "  - " + indent(text, "    ").lstrip()


def lint(folder: Path, text: str) -> list[Diagnostic]:
    """The findings in a policy, or in one rule of a ClusterPolicy."""
    file = folder / "policy.yaml"
    file.write_text(as_policy(text), "utf-8")
    return list(lint_policies([str(file)]).diagnostics)
