"""`chartkit eval`: evaluate an expression on a value."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.terminal import show_text
from chartkit.errors import InputError
from chartkit.model import Json, Location, Resource, path_text
from chartkit.safe_text import shown

if TYPE_CHECKING:
    from chartkit.engine.cel.declarations import Environment
    from chartkit.engine.cel.explain import Part

_INPUT: Final = "<input>"
"""The name of an expression that no file has, in cel-go's errors."""
_TEXT_WIDTH: Final = 60
_VALUE_WIDTH: Final = 80
"""The greatest width of an explanation's columns; longer values are cut."""


@click.group("eval")
def evaluate() -> None:
    """Evaluate an expression of a policy on a value."""


@evaluate.command(short_help="Evaluate a JMESPath expression as Kyverno does.")
@click.argument("expression", required=False, metavar="EXPR")
@click.option(
    "-i",
    "--input",
    "source",
    metavar="FILE",
    help="A YAML or JSON file, or - for standard input; null if not given.",
)
@click.option("--list", "listed", is_flag=True, help="Show every function, with an example.")
def jmespath(expression: str | None, source: str | None, listed: bool) -> None:
    """Evaluate the JMESPath expression EXPR as Kyverno does; the result is printed as JSON.

    Exits 1 if the expression cannot be evaluated.
    """
    if listed:
        from chartkit.engine.jmespath.functions import FUNCTIONS

        lines: list[str] = []
        for spec in FUNCTIONS.values():
            lines += [spec.signature, f"    {spec.doc}", f"    {spec.example}"]
        show_text("\n".join(lines) + "\n")
        return
    if expression is None:
        raise click.UsageError("an EXPR is missing (or --list)")
    from chartkit.engine.jmespath import JMESPathError, compile_expression
    from chartkit.engine.jmespath.advice import advice
    from chartkit.go.fmt import UnsupportedValueError, indented_json

    value = _read(source)
    try:
        text = indented_json(compile_expression(expression).search(value))
    except (JMESPathError, UnsupportedValueError) as error:
        click.echo(str(error), err=True)
        if hint := advice(str(error), expression):
            click.echo(f"→ {shown(hint)}", err=True)
        raise SystemExit(1) from error
    click.echo(text)


@evaluate.command(short_help="Evaluate a CEL expression as Kyverno does.")
@click.argument("expression", required=False, metavar="EXPR")
@click.option(
    "-i",
    "--input",
    "source",
    metavar="FILE",
    help="A YAML or JSON file, or - for standard input: the `object`; in the environment "
    "standard, a mapping of variables.",
)
@click.option(
    "--env",
    "name",
    default="k8s",
    show_default=True,
    metavar="NAME",
    help="The functions and variables to offer: those of k8s (Kubernetes' admission policies), "
    "vap, map (as Kyverno runs them), vpol, mpol, gpol, dpol, ivpol (Kyverno's kinds; nvpol and so "
    "on for the namespaced ones), ivpol-json, matchimage (an ImageValidatingPolicy for JSON, and "
    "its matchImageReferences) or standard.",
)
@click.option(
    "--var",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A further variable: a YAML value, or @FILE; repeatable.",
)
@click.option("--explain", "explained", is_flag=True, help="Show the value of each part.")
@click.option("--format", "formatted", is_flag=True, help="Print EXPR formatted, unevaluated.")
@click.option("--list", "listed", is_flag=True, help="Show every function of the environment.")
def cel(
    expression: str | None,
    source: str | None,
    name: str,
    settings: tuple[str, ...],
    explained: bool,
    formatted: bool,
    listed: bool,
) -> None:
    """Evaluate the CEL expression EXPR as Kubernetes and Kyverno do.

    EXPR is an expression, @FILE, or - for standard input. The result is printed as a CEL value.
    Exits 1 if the expression does not compile or has no value.
    """
    from chartkit.engine.cel import CelCompileError, CelError, compile_expression
    from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
    from chartkit.engine.cel.explain import listing
    from chartkit.engine.cel.notation import notation

    if name not in ENVIRONMENTS:
        message = f"there is no environment '{name}'; known: {', '.join(ENVIRONMENTS)}"
        raise click.UsageError(message)
    environment = ENVIRONMENTS[name]
    if listed:
        show_text(listing(environment))
        return
    if expression is None:
        raise click.UsageError("an EXPR is missing (or --list)")
    if formatted and (source or settings or explained):
        raise click.UsageError("--format evaluates nothing: it takes no --input, --var, --explain")
    if expression == source == "-":
        raise click.UsageError("EXPR and --input cannot both be standard input")
    text, file = _expression(expression)
    if formatted:
        click.echo(_formatted(text, file, environment))
        return
    variables = _variables(name, source, settings)
    try:
        program = compile_expression(text, declaring(environment, variables))
        # Print a warning for each field that the object's kind does not have
        body = variables.get("object")
        from chartkit.engine.cel.shapes import misspelt
        from chartkit.engine.kubernetes.kinds import kind_of

        if isinstance(body, dict) and isinstance(body.get("kind"), str):
            for issues in misspelt(program, [kind_of(Resource(body))]):
                for diagnostic in issues.diagnostics():
                    click.echo(str(diagnostic), err=True)
        if explained:
            from chartkit.engine.cel.explain import explain

            rows = list(_rows(explain(program, variables), ""))
            width = min(max(len(text) for text, _ in rows), _TEXT_WIDTH)
            click.echo("".join(f"{text:{width}}  {value}\n" for text, value in rows), nl=False)
        click.echo(notation(program.evaluate(variables), lines=True))
    except (CelCompileError, CelError) as error:
        click.echo(_placed(str(error), file), err=True)
        raise SystemExit(1) from error


def _expression(argument: str) -> tuple[str, str]:
    """Return the text of an expression and the name of its file, `<input>` if it has none. Raise
    InputError for a file that cannot be read."""
    from chartkit.documents import input_files, streams

    if argument == "-":
        return streams.read_stdin(sys.stdin), "<stdin>"
    if argument.startswith("@"):
        return input_files.read_text(Path(argument[1:])), argument[1:]
    return argument, _INPUT


def _placed(message: str, file: str) -> str:
    """Return an error's text with the name of the expression's file for `<input>`."""
    return re.sub(rf"^ERROR: {_INPUT}:", lambda _: f"ERROR: {shown(file)}:", message, flags=re.M)


def _formatted(text: str, file: str, environment: Environment) -> str:
    """Return a formatted expression; exit with 2 where it has a syntax error."""
    from chartkit.engine.cel import CelCompileError
    from chartkit.engine.cel.syntax import format_expression, read

    try:
        return format_expression(read(text, environment))
    except CelCompileError as error:
        click.echo(_placed(str(error), file), err=True)
        raise SystemExit(2) from error


def _variables(name: str, source: str | None, settings: Sequence[str]) -> dict[str, Json]:
    """Return the variables that the input and the options bind; raise InputError."""
    from chartkit.documents.reader import parse_yaml

    variables: dict[str, Json] = {}
    if source is not None:
        body = _read(source)
        if name != "standard":
            variables["object"] = body
        elif isinstance(body, dict):
            variables.update(body)
        else:
            hint = "its keys are the variables of the environment standard"
            raise InputError("must be a mapping", Location(source), hint)
    for setting in settings:
        variable, sign, text = setting.partition("=")
        if not sign or not variable.isidentifier():
            raise InputError(f"--var takes NAME=VALUE, not '{setting}'")
        variables[variable] = _read(text[1:]) if text.startswith("@") else parse_yaml(text)
    return variables


def _rows(part: Part, indent: str) -> Iterator[tuple[str, str]]:
    from chartkit.engine.cel.notation import notation

    text = " ".join(part.text.split())
    if part.is_element and part.path is not None:
        text += f" = {path_text(part.path)}"
    yield indent + text, f"error: {part.error}" if part.error else _short(notation(part.value))
    for inner in part.parts:
        yield from _rows(inner, f"{indent}  ")


def _short(text: str) -> str:
    return text if len(text) <= _VALUE_WIDTH else f"{text[: _VALUE_WIDTH - 1]}…"


def _read(source: str | None) -> Json:
    from chartkit.documents.reader import read_file, read_stdin

    if source is None:
        return None
    documents = read_stdin(sys.stdin) if source == "-" else read_file(Path(source))
    if len(documents) > 1:
        hint = "give one value"
        raise InputError("holds several documents", documents[1].location, hint)
    if not documents:
        raise InputError("is empty", Location(source))
    return documents[0].body
