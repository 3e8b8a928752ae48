"""The charts that render writes, by name."""

from __future__ import annotations

from typing import Final

from chartkit.chart import engine_chart, policies_schema, policy_reporter

ENGINE: Final = engine_chart.CHART_NAME
POLICIES: Final = policies_schema.CHART_NAME
REPORTER: Final = policy_reporter.CHART_NAME
"""Upstream's alone: where it is not vendored, its values files are written."""
NAMES: Final = (ENGINE, POLICIES, REPORTER)
"""In the order in which they are installed."""
