"""Charts and policies that give the same again: none asks for the time or for chance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chartkit.render.chart import Chart, CheckTarget

_OTHERWISE: Final = re.compile(
    rb"\b(?:rand[A-Z]\w*|gen[A-Z]\w*|shuffle|uuidv4|htpasswd|bcrypt|encryptAES|getHostByName"
    rb"|time_now\w*|time_since|random)\b"
    rb"|\btime\s*\.\s*now\b|[(|]\s*(?:now|ago)\b|\b(?:now|ago)\b(?=[^{}]*\}\})"
)
"""What takes its value from the clock, from chance or from elsewhere: functions of Helm's
templates, of JMESPath and of CEL."""
_COMMENT: Final = re.compile(rb"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.DOTALL)


def is_repeatable(subjects: Sequence[CheckTarget]) -> bool:
    """Return whether the charts of environments, and their policies, come to the same again."""
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


def may_differ(texts: Iterable[str | bytes]) -> bool:
    """Return whether templates or policies may say something else the next time."""
    found = (each.encode("utf-8", "replace") if isinstance(each, str) else each for each in texts)
    return any(_OTHERWISE.search(_COMMENT.sub(b"", each)) for each in found)
