"""`chartkit eval`: tries an expression on a value."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from chartkit.errors import InputError
from chartkit.model import Json, Location


@click.group("eval")
def evaluate() -> None:
    """Try an expression of a policy on a value."""


@evaluate.command()
@click.argument("expression", required=False, metavar="EXPR")
@click.option(
    "-i",
    "--input",
    "source",
    metavar="FILE",
    help="A YAML or JSON file, or - for standard input; null where none is given.",
)
@click.option("--list", "listed", is_flag=True, help="Show every function, with an example.")
def jmespath(expression: str | None, source: str | None, listed: bool) -> None:
    """Evaluate the JMESPath expression EXPR as Kyverno does; the result is printed as JSON.

    Exits 1 where the expression cannot be evaluated.
    """
    if listed:
        click.echo(_functions(), nl=False)
        return
    if expression is None:
        raise click.UsageError("an EXPR is missing (or --list)")
    from chartkit.engine.jmespath import JMESPathError, compile_expression

    value = _read(source)
    try:
        found = compile_expression(expression).search(value)
    except JMESPathError as error:
        click.echo(str(error), err=True)
        raise SystemExit(1) from error
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


def _functions() -> str:
    from chartkit.engine.jmespath import functions

    lines: list[str] = []
    for one in functions():
        lines += [one.signature, f"    {one.doc}", f"    {one.example}"]
    return "\n".join(lines) + "\n"


def _read(source: str | None) -> Json:
    from chartkit.documents import read_file, read_text

    if source is None:
        return None
    documents = read_text(sys.stdin.read(), "<stdin>") if source == "-" else read_file(Path(source))
    if len(documents) > 1:
        hint = "give one value"
        raise InputError("holds several documents", documents[1].location, hint)
    if not documents:
        raise InputError("is empty", Location(source))
    return documents[0].body
