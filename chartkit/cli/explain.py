"""`chartkit explain`: what the id of a finding means."""

from __future__ import annotations

import click


@click.command()
@click.argument("rule_id", required=False, metavar="[ID]")
def explain(rule_id: str | None) -> None:
    """Say what the finding ID (CK001 …) means, why it matters, what to do; list all without ID."""
    from chartkit.lint.explain import as_list, as_text, explanation

    click.echo(as_list() if rule_id is None else as_text(explanation(rule_id)), nl=False)
