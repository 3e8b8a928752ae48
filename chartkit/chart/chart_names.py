"""The charts that render writes, by name."""

from __future__ import annotations

from typing import Final

from chartkit.chart import engine_chart, policies_schema

ENGINE: Final = engine_chart.CHART_NAME
POLICIES: Final = policies_schema.CHART_NAME
REPORTER: Final = "policy-reporter"
"""Upstream's alone, and only where it is vendored."""
NAMES: Final = (ENGINE, POLICIES, REPORTER)
"""In the order in which they are installed."""
