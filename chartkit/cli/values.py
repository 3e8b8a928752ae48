"""`chartkit values`: check and migrate values files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit import addon
from chartkit.cli.options import helm_option
from chartkit.cli.options.output import OutputOptions, reports, show

if TYPE_CHECKING:
    from chartkit.documents.reader import Document
    from chartkit.model import Diagnostic
    from chartkit.scan.gitops.releases import ReleasedValues


@click.group()
def values() -> None:
    """Check values files, fix them, and migrate them from older charts."""


for _name, _command in addon.subcommands("values"):
    values.add_command(_command, _name)


@values.command("lint", short_help="Check values files, and fix them.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True), metavar="PATH…"
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="The chart that the values are for; Kyverno's engine if not given.",
)
@click.option(
    "--layer",
    is_flag=True,
    help="Take the files as one set of values, as Helm's -f does; the last one wins.",
)
@click.option("--ha", "available", is_flag=True, help="The engine must be highly available.")
@click.option(
    "--fix", is_flag=True, help="Fix what can be fixed without changing the effective values."
)
@helm_option()
@reports()
def lint_values(
    options: OutputOptions,
    files: Sequence[Path],
    chart: Path | None,
    layer: bool,
    available: bool,
    fix: bool,
) -> None:
    """Check values files, each by itself, and the values in a HelmRelease, an Application or an
    ApplicationSet; `chartkit explain ID` explains a finding. Of a folder, all files with values of
    Kyverno's charts are checked.

    Exits 1 if there is an error.
    """
    from chartkit.cli.explain import known_explanations
    from chartkit.documents.unread import EXIT_CODE, any_unread
    from chartkit.model import Severity
    from chartkit.values.lint.files import check_each, check_files, report

    options.parsed()
    if layer and any(file.is_dir() for file in files):
        raise click.UsageError("--layer is for values files, not for folders")
    rows: list[Diagnostic] = []
    named = set(files)
    files, around = _files_of(files, rows)
    declared = _declared(files, around, chart, available, named) if files else []
    if declared is not None and (layer or fix):
        raise click.UsageError("--layer and --fix are for values files, not for objects")
    if fix:
        from chartkit.documents.reader import read_source, read_text
        from chartkit.errors import InputError
        from chartkit.report.files import write_over
        from chartkit.values.lint.files import defaults, fix_values
        from chartkit.values.lint.folders import chart_of, engine_keys, of_another_chart

        for file in files:
            try:
                text, owner = read_source(file), chart_of(file, chart)
                documents = read_text(text, str(file))
            except InputError:
                if len(files) == 1:
                    raise
                continue  # The check has a row for it.
            keys = engine_keys(owner)
            if documents and not keys and not chart and of_another_chart(owner, documents):
                continue
            own = defaults(None if keys else chart)
            text, done = fix_values(text, str(file), own, keys)
            if done:
                write_over(file, text)
                click.echo(f"{file}: fixed {', '.join(done)}", err=True)
    check = check_files if layer else check_each
    diagnostics = check(files, chart, available) if declared is None else declared
    # A file may be checked by itself, and for a release that names it.
    diagnostics = list(dict.fromkeys([*rows, *diagnostics]))
    show(report(diagnostics, known_explanations()), options)
    failed = any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    raise SystemExit(EXIT_CODE if any_unread(diagnostics) else int(failed))


def _files_of(
    paths: Sequence[Path], rows: list[Diagnostic]
) -> tuple[list[Path], dict[Path, Sequence[Document]]]:
    """Return the files at paths, of folders those with values of Kyverno's charts, and the
    documents with other objects below folders; rows: gets the notes about folders."""
    from chartkit.scan.gitops.releases import declares_releases
    from chartkit.values.lint.folders import FolderValues

    below = FolderValues(declares_releases)
    for path in paths:
        if path.is_dir():
            below.add(path)
        else:
            below.files.append(path)
    rows += below.left_out()
    return list(dict.fromkeys(below.files)), below.objects


def _declared(
    files: Sequence[Path],
    around: Mapping[Path, Sequence[Document]],
    chart: Path | None,
    available: bool,
    named: Collection[Path],
) -> list[Diagnostic] | None:
    """Return the faults of values that objects in files declare, and of the files that are values;
    None if no file has such an object. around: other files with objects that these may name; named:
    the files that must have values, unlike those found below folders, of which only releases of
    Kyverno's charts are checked."""
    from chartkit.documents.reader import read_file
    from chartkit.documents.unread import unread_at
    from chartkit.errors import InputError, RenderError
    from chartkit.model import Diagnostic, Location, Severity
    from chartkit.scan.gitops.releases import declares_releases, released_values
    from chartkit.values.lint.files import check_documents, check_each

    diagnostics: list[Diagnostic] = []
    read = {}
    for file in files:
        try:
            read[file] = read_file(file)
        except InputError as error:
            if len(files) == 1:
                raise
            diagnostics.append(unread_at(Location(str(file)), error))
    if not any(map(declares_releases, read.values())):
        return None
    for file, documents in read.items():
        notes: list[Diagnostic] = []
        releases = list(released_values(documents, {**around, **read}, notes.append))
        if file not in named:
            releases = list(filter(_is_kyvernos, releases))
        diagnostics += notes if releases or file in named else ()
        if not releases and (file in named or not declares_releases(documents)):
            # Values, or an object that has none.
            diagnostics += check_each([file], chart, available, len(files) > 1 or file not in named)
        for release in releases:
            if not release.is_known and chart is None:
                diagnostics.append(release.unknown)
                continue
            unknown, of = release.release.unknown, chart or release.chart
            try:
                diagnostics += check_documents(release.documents, of, available, unknown)
            except (InputError, RenderError) as error:
                message = f"{release.release.name} cannot be installed: {error.message}"
                where = release.release.owner.location
                diagnostics.append(Diagnostic("helm", Severity.ERROR, message, where, error.hint))
    return diagnostics


def _is_kyvernos(release: ReleasedValues) -> bool:
    """Report whether a release is of one of Kyverno's charts, or of one that depends on one."""
    from chartkit.model import mappings_at
    from chartkit.values.lint.folders import chart_of
    from chartkit.values.moved import CHARTS

    names: set[object] = {release.release.chart.rstrip("/").rpartition("/")[2]}
    if release.chart is not None:
        body = chart_of(release.chart, release.chart)
        names |= {
            body.get("name"),
            *(mapping.get("name") for mapping in mappings_at(body, "dependencies")),
        }
    return not names.isdisjoint(CHARTS)
