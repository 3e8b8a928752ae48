"""The meaning of every diagnostic's id, from the modules that declare the ids."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from textwrap import indent

from chartkit.errors import InputError
from chartkit.model import Explanation
from chartkit.registration import declarations
from chartkit.suggestions import suggestion
from chartkit.values.lint.rules import RULES

_MODULES = (
    "chartkit.kyverno.matrix",
    "chartkit.kyverno.known_faults",
    "chartkit.charts.engine.high_availability",
    "chartkit.output.values_merge",
    "chartkit.output.write",
    "chartkit.network.downloads.vendored_folder",
    "chartkit.engine.cluster_policy.generate.background",
    "chartkit.catalog.authoring.agreement",
    "chartkit.catalog.authoring.check",
)
"""The modules that declare ids, imported when needed; those of values are rules."""


def explanations() -> Iterator[Explanation]:
    """Yield the meaning of every id."""
    yield from (rule.explanation for rule in RULES)
    for name in _MODULES:
        yield from declarations(Explanation, vars(import_module(name)))


def explanation(rule_id: str) -> Explanation:
    """Return the meaning of an id; raise InputError for one that is not known."""
    known = []
    for meaning in explanations():
        if meaning.rule_id == rule_id.upper():
            return meaning
        known.append(meaning.rule_id)
    hint = suggestion(rule_id, known) or "`chartkit explain` lists them"
    raise InputError(f"there is no finding '{rule_id}'", None, hint)


def as_text(meaning: Explanation) -> str:
    """Return the meaning of one id for a terminal."""
    lines = [f"{meaning.rule_id}: {meaning.what}", ""]
    lines += [f"Why: {meaning.why}", f"Do:  {meaning.do}"]
    if meaning.fix:
        lines.append(f"Fix: {meaning.fix} (chartkit values lint --fix)")
    if meaning.example:
        problematic, correct = (indent(values, "    ").rstrip() for values in meaning.example)
        lines += ["", "Problematic:", problematic, "", "Correct:", correct]
    return "\n".join(lines) + "\n"


def as_list() -> str:
    """Return every id with its mistake, a line each."""
    in_order = sorted(explanations(), key=lambda meaning: meaning.rule_id)
    return "".join(f"{meaning.rule_id}  {meaning.what}\n" for meaning in in_order)
