"""Charts and policies that depend on their inputs alone, not on the time or on chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chartkit.helm.kept import may_differ

if TYPE_CHECKING:
    from chartkit.render.chart import Chart, CheckTarget


def is_repeatable(subjects: Sequence[CheckTarget]) -> bool:
    """Return whether the charts of environments, and their policies, give the same result again."""
    charts = [chart for each in subjects for chart in each.charts]
    policies = (text for each in subjects for text in each.policies.rendered().texts.values())
    return not may_differ(policies) and not any(may_differ(_evaluated(each)) for each in charts)


def _evaluated(chart: Chart) -> Iterator[str]:
    """Yield the texts of a chart that Helm evaluates: values, helpers, and templates that come to
    anything."""
    rendered = chart.rendered().texts
    for name, text in chart.files.tree.files.items():
        file = name.rpartition("/")[2]
        is_given = file.startswith("_") or (file.startswith("values") and file.endswith(".yaml"))
        if is_given or rendered.get(f"{chart.name}/{name}", "").strip():
            yield text
