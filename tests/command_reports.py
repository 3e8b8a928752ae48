"""The output of commands in a format, as tests read it."""

import io

from chartkit.report.command_report import CommandReport, write_report
from chartkit.report.outputs import Output
from chartkit.report.text.layout import PLAIN, Screen

OWN = ("text", "markdown", "json")
"""Formats in which most commands have more than their findings."""


def in_format(report: CommandReport, name: str, screen: Screen = PLAIN) -> str:
    """Return a report in a format."""
    stdout = io.StringIO()
    write_report(report, [Output(name)], stdout, screen)
    return stdout.getvalue()
