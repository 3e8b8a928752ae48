"""The pictures of an HTML report: counts as bars and as a ring, drawn by pygal as SVG.

pygal's own style, scripts and labels for the mouse are removed: the page's style has the colours,
for light and dark, and its tables have the same numbers for those who do not see pictures.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from markupsafe import Markup

_DROPPED: Final = frozenset({"defs", "desc", "script", "style", "title"})
_TOOLTIPS: Final = ("tooltip", "text-overlay", "legends")
_BAR: Final = 26
_WIDTH: Final = 720
_SVG: Final = "{http://www.w3.org/2000/svg}"


def bars(title: str, rows: Mapping[str, Sequence[int]], names: Sequence[str]) -> Markup:
    """Return a bar for each row, with a part for each of the names; rows: their counts."""
    chart = _pygal().HorizontalStackedBar(
        **_common(),
        width=_WIDTH,
        height=_BAR * len(rows) + 50,
        x_labels=list(rows)[::-1],
        truncate_label=28,
        margin_left=10,
    )
    for at, name in enumerate(names):
        chart.add(name, [counts[at] for counts in [*rows.values()][::-1]])
    return _drawn(chart, title)


def ring(title: str, counts: Mapping[str, int]) -> Markup:
    """Return a ring with a part for each count."""
    chart = _pygal().Pie(**_common(), width=240, height=240, inner_radius=0.6, margin=4)
    for name, count in counts.items():
        chart.add(name, count)
    return _drawn(chart, title)


@cache
def _pygal() -> Any:
    """Return the library, without the hook for plugins that it adds to all imports."""
    import pygal

    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__module__ != "pygal"]
    return pygal


def _common() -> dict[str, Any]:
    return {
        "js": (),
        "css": (),
        "show_legend": False,
        "explicit_size": False,
        "print_values": False,
    }


def _drawn(chart: Any, title: str) -> Markup:
    """Return the SVG of a chart, which pygal escapes."""
    from xml.etree.ElementTree import Comment, tostring

    root = chart.render_tree()
    for parent in [*root.iter()]:
        for child in [*parent]:
            is_tooltip = child.get("class", "").startswith(_TOOLTIPS)
            name = child.tag.removeprefix(_SVG) if isinstance(child.tag, str) else Comment
            if name is Comment or name in _DROPPED or is_tooltip:
                parent.remove(child)
    for name in ("id", "style"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", title)
    return Markup(tostring(root, encoding="unicode"))
