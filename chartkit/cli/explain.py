"""`chartkit explain`: the meaning of a finding's id, or of a cluster's error message."""

from __future__ import annotations

import re
import sys

import click

from chartkit.errors import InputError

_RULE_ID = re.compile(r"\w{1,12}")


@click.command(short_help="Explain the id of a finding, or a cluster's error message.")
@click.argument("subject", required=False, metavar="[ID|TEXT]")
def explain(subject: str | None) -> None:
    """Explain the finding ID (CK001 …), or the error message TEXT of a cluster, Helm or Kyverno.

    Quote TEXT, or pipe it in with `-`. Prints what it means, why it matters and what to do. Without
    an argument, lists every ID.
    """
    from chartkit.cli.explanations import as_list, as_text, explanation

    if subject is None:
        click.echo(as_list(), nl=False)
    elif _RULE_ID.fullmatch(subject):
        click.echo(as_text(explanation(subject)), nl=False)
    else:
        click.echo(_explained(_standard_input() if subject == "-" else subject), nl=False)


def _explained(text: str) -> str:
    """Return the explanation of an error message; raise InputError if it is not known."""
    from chartkit.install.troubleshooting import as_text, find_messages

    found = find_messages(text)
    if not found:
        hint = "docs/troubleshooting.md lists those that are; `chartkit explain` lists the ids"
        raise InputError("this is no error message that chartkit knows", None, hint)
    return as_text(found)


def _standard_input() -> str:
    return sys.stdin.buffer.read(1 << 20).decode("utf-8", "replace")
