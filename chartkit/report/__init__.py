"""Writers of results, one a format; a new format is one module and one line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chartkit.report.json_report import JsonWriter
from chartkit.report.junit import JUnitWriter
from chartkit.report.markdown import MarkdownWriter
from chartkit.report.model import PolicyFacts, ReportOptions, Writer
from chartkit.report.policyreport import OPENREPORTS, PolicyReportWriter
from chartkit.report.text import TextWriter

FORMATS: dict[str, Callable[[ReportOptions], Writer]] = {
    "text": TextWriter,
    "json": JsonWriter,
    "policyreport": PolicyReportWriter,
    "openreports": partial(PolicyReportWriter, api=OPENREPORTS),
    "junit": JUnitWriter,
    "markdown": MarkdownWriter,
}

__all__ = ["FORMATS", "PolicyFacts", "ReportOptions", "Writer"]
