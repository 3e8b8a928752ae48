"""`chartkit explain`: the meaning of a finding's id, or of a cluster's error message.

Lint rules say what their ids mean; `named_checks.yaml` says it of all others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent

import click

from chartkit.cli.terminal import show_rows, show_text
from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.model import Explanation
from chartkit.suggestions import suggestion

_NAMED = Path(__file__).with_name("named_checks.yaml")
_RULE_ID = re.compile(r"\w[\w-]{0,11}")


def explanations() -> Iterator[Explanation]:
    """Yield the meaning of every id."""
    from chartkit.catalog.policy_lint.rules import RULES as POLICY_RULES
    from chartkit.values.lint.rules import RULES

    yield from (rule.explanation for rule in RULES)
    yield from (rule.explanation for rule in POLICY_RULES)
    for row in read_file(_NAMED)[0].body:
        yield Explanation(*row)


def explanation(rule_id: str) -> Explanation:
    """Return the meaning of an id; raise InputError for one that is not known."""
    ids = []
    for meaning in explanations():
        if meaning.rule_id.lower() == rule_id.lower():
            return meaning
        ids.append(meaning.rule_id)
    hint = suggestion(rule_id, ids) or "`chartkit explain` lists them"
    raise InputError(f"there is no finding '{rule_id}'", None, hint)


def known_explanations() -> Mapping[str, Explanation]:
    """Return the meaning of every id."""
    return {meaning.rule_id: meaning for meaning in explanations()}


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


def as_rows() -> list[tuple[str, str]]:
    """Return every id with its mistake."""
    return sorted((meaning.rule_id, meaning.what) for meaning in explanations())


@click.command(short_help="Explain the id of a finding, or a cluster's error message.")
@click.argument("subject", required=False, metavar="[ID|TEXT]")
def explain(subject: str | None) -> None:
    """Explain the finding ID (CK001, policy-misspelt …), or the error message TEXT of a cluster,
    Helm or Kyverno.

    Quote TEXT, or pipe it in with `-`. Prints what it means, why it matters and what to do. Without
    an argument, lists every ID.
    """
    if subject is None:
        show_rows(as_rows())
    elif _RULE_ID.fullmatch(subject) or subject.lower() in known_explanations():
        show_text(as_text(explanation(subject)))
    else:
        if subject == "-":
            subject = sys.stdin.buffer.read(1 << 20).decode("utf-8", "replace")
        show_text(_explained(subject))


def _explained(text: str) -> str:
    """Return the explanation of an error message; raise InputError if it is not known."""
    from chartkit.kyverno.troubleshooting import as_text, find_messages

    messages = find_messages(text)
    if not messages:
        hint = "docs/troubleshooting.md lists those that are; `chartkit explain` lists the ids"
        if not text.count(" "):
            hint += "; `chartkit policies show NAME` shows a policy"
        message = "this is not an error message that chartkit knows"
        raise InputError(message, None, suggestion(text, known_explanations()) or hint)
    return as_text(messages)
