"""The options that choose the formats of a command's output, and a part of its JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from chartkit.cli.options import Option, takes
from chartkit.cli.terminal import screen
from chartkit.report.formats import FORMATS, names
from chartkit.report.outputs import Output, parse_all, with_query
from chartkit.suggestions import alternatives

if TYPE_CHECKING:
    from chartkit.model import Diagnostic
    from chartkit.report.command_report import CommandReport

TEXT: Final = Output("text")
"""The default: text on standard output."""
query_option: Final = click.option(
    "--query",
    metavar="EXPR",
    help="A JMESPath expression that chooses a part of the JSON report; -o json is the default "
    "with it.",
)


class _FormatsOption(click.Option):
    """An option whose help lists the formats of other packages as well."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        added = names()[len(FORMATS) :]
        if record is None or not added:
            return record
        return record[0], f"{record[1]} Other packages add {', '.join(added)}."


def formats_option(*declared: str) -> Option:
    """Return the option `-o FORMAT[=FILE]`, which is repeatable; declared: its names."""
    return click.option(
        *(declared or ("-o", "--output")),
        "outputs",
        cls=_FormatsOption,
        multiple=True,
        default=("text",),
        metavar="FORMAT[=FILE]",
        help=f"{alternatives(FORMATS)}; repeatable. Without =FILE it goes to standard output.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """outputs: `FORMAT` or `FORMAT=FILE`; query: a JMESPath expression over the JSON report."""

    outputs: tuple[str, ...]
    query: str | None

    def parsed(self, has_results: bool = False) -> list[Output]:
        """Return the reports that the options name; raise InputError, also for formats of results
        of policies for a command that has none."""
        from chartkit.report.command_report import queried, require_findings

        outputs = parse_all(with_query(self.outputs, self.query))
        if not has_results:
            require_findings(outputs)
        queried([output.format for output in outputs], self.query)
        return outputs


def reports(*declared: str) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that adds `-o FORMAT[=FILE]` and `--query EXPR` to a command, which gets
    `OutputOptions` as its first argument; declared: the names of the first."""
    return takes(OutputOptions, formats_option(*declared), query_option)


def show(report: CommandReport, options: OutputOptions, without: Output | None = None) -> None:
    """Write a command's report in every format that the options name; without: the one that the
    command writes itself. Raise InputError."""
    from chartkit.report.command_report import queried, write_report

    outputs = [output for output in options.parsed(report.results is not None) if output != without]
    query = queried([output.format for output in outputs], options.query)
    write_report(report, outputs, sys.stdout, screen(), query)


class Notes:
    """Notes on standard error, at the end of a command with one line for those of one kind; a row
    about an input that cannot be read decides the exit code, and is there once."""

    def __init__(self) -> None:
        self._rows: list[Diagnostic] = []
        self._context = click.get_current_context(silent=True)
        if self._context is not None:
            self._context.call_on_close(self._close)

    def __call__(self, row: Diagnostic) -> None:
        from chartkit.documents.unread import is_unread
        from chartkit.model import Severity

        if is_unread(row) and row in self._rows:
            return
        self._rows.append(row)
        if self._context is None or row.severity is Severity.ERROR:
            click.echo(str(row), err=True)

    def _close(self) -> None:
        from chartkit.model import Severity
        from chartkit.report.text.layout import grouped

        rows = [row for row in self._rows if row.severity is not Severity.ERROR]
        for row in grouped(rows, more="chartkit scan --detailed"):
            click.echo(str(row), err=True)

    def exit_code(self, fails: bool) -> int:
        """Return the exit code of a command; fails: whether what it found fails it."""
        from chartkit.documents.unread import EXIT_CODE, any_unread

        return EXIT_CODE if any_unread(self._rows) else int(fails)
