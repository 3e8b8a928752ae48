"""Writers of results and findings, one for each format.

A new format is one module in `formats/`; a package adds one by an entry point of the group
`chartkit.reports`.
"""

from __future__ import annotations

from chartkit.report.formats import FORMATS
from chartkit.report.model import PolicyFacts, ReportOptions, ReportPer, Writer

__all__ = ["FORMATS", "PolicyFacts", "ReportOptions", "ReportPer", "Writer"]
