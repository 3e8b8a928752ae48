"""`chartkit policies`: finds policies, takes whole libraries, starts and checks one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from chartkit.catalog.libraries import Catalogue

_project = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    metavar="FOLDER",
    help="The folder with chartkit.yaml and vendor/; the current one if not given.",
)
_output = click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")


def _traits(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--library", default="", metavar="NAME", help="Those of one library."),
        click.option(
            "--kyverno",
            "--minimum",
            metavar="VERSION",
            help="Those that this Kyverno runs: the version that they need is not newer.",
        ),
        click.option(
            "--kind",
            default="",
            metavar="KIND",
            help="What they do (validate, mutate, generate, image, cleanup), or a form such as "
            "ValidatingPolicy.",
        ),
        click.option("--subject", default="", metavar="KIND", help="What they speak of, as Pod."),
        click.option("--severity", default="", metavar="NAME", help="critical … info."),
        click.option("--category", default="", metavar="TEXT", help="A part of their category."),
        _project,
        _output,
    ):
        command = option(command)
    return command


@click.group()
def policies() -> None:
    """Find policies, take whole libraries of them, start and check your own."""


@policies.command("list")
@_traits
def list_policies(**given: Any) -> None:
    """List the policies of every library: the built-in one, your own, the vendored ones."""
    _list((), **given)


@policies.command()
@click.argument("words", nargs=-1, required=True, metavar="WORD…")
@_traits
def search(words: Sequence[str], **given: Any) -> None:
    """List the policies that say every WORD in their name, title, category or description.

    Exits 1 where there is none.
    """
    _list(words, **given)


def _list(words: Sequence[str], output: str, project: Path, **traits: str | None) -> None:
    from chartkit.catalog.libraries import libraries, read_catalogue
    from chartkit.catalog.listing import FORMATS
    from chartkit.catalog.search import Query, checked, search
    from chartkit.chart.versions import parse_version

    kyverno = traits.pop("kyverno")
    folders = libraries(project)
    catalogue = read_catalogue(folders)
    query = Query(
        words=tuple(words),
        kyverno=None if kyverno is None else parse_version(kyverno, "Kyverno"),
        **{name: value or "" for name, value in traits.items()},
    )
    query = checked(query, catalogue.entries, [folder.name for folder in folders])
    found = search(catalogue.entries, query)
    click.echo(FORMATS[output](found), nl=False)
    _complain(catalogue)
    raise SystemExit(0 if found else 1)


def _complain(catalogue: Catalogue) -> None:
    for problem in catalogue.problems:
        click.echo(problem, err=True)


@policies.command()
@click.argument("name")
@_project
@_output
def show(name: str, project: Path, output: str) -> None:
    """Show the policy NAME: its text and parameters, an object it refuses and one it accepts.

    NAME is folder and name, as best-practices/require-probes; the library's name before it, or the
    name alone, where that is enough.
    """
    from chartkit.catalog.libraries import libraries, read_catalogue
    from chartkit.catalog.search import find
    from chartkit.catalog.show import FORMATS, details

    folders = libraries(project)
    catalogue = read_catalogue(folders)
    entry = find(catalogue.entries, name)
    root = next(folder.root for folder in folders if folder.name == entry.library)
    click.echo(FORMATS[output](details(entry, root)), nl=False)
    for problem in catalogue.problems:
        if problem.startswith(f"{entry.file}:"):
            click.echo(problem, err=True)
