"""The charts that render writes, by name."""

from __future__ import annotations

from typing import Final

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine import policy_reporter
from chartkit.charts.policies import values_schema as policies_schema

ENGINE: Final = engine_chart.CHART_NAME
POLICIES: Final = policies_schema.CHART_NAME
REPORTER: Final = policy_reporter.CHART_NAME
"""Upstream's alone: where it is not vendored, its values files are written."""
NAMES: Final = (ENGINE, POLICIES, REPORTER)
"""In the order in which they are installed."""
