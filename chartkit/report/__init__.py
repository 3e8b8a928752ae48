"""Writers of results, one for each format. A new format is one module and one line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chartkit.report.json_report import JsonWriter
from chartkit.report.junit import JUnitWriter
from chartkit.report.markdown import MarkdownWriter
from chartkit.report.model import PolicyFacts, ReportOptions, ReportPer, Writer
from chartkit.report.policyreport import OPENREPORTS, policy_report_writer
from chartkit.report.text import TextWriter

FORMATS: dict[str, Callable[[ReportOptions], Writer]] = {
    "text": TextWriter,
    "json": JsonWriter,
    "policyreport": policy_report_writer,
    "openreports": partial(policy_report_writer, api=OPENREPORTS),
    "junit": JUnitWriter,
    "markdown": MarkdownWriter,
}

__all__ = ["FORMATS", "PolicyFacts", "ReportOptions", "ReportPer", "Writer"]
