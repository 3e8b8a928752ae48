"""The dashboard for Grafana that the engine chart brings, from a description of its panels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chartkit.charts.engine.controllers import SOURCE
from chartkit.documents.reader import read_file
from chartkit.model import Body

DASHBOARD_FILE = "dashboards/kyverno-dashboard.json"

_RATE = "$__rate_interval"
_WIDTH = 24
_HEIGHTS = {"stat": 4, "timeseries": 8, "table": 9}
_DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""A variable: imports by hand and sidecars resolve it, and `__inputs` the former alone."""

_OPEN_ROW = {"collapsed": False, "panels": []}


def dashboard() -> str:
    """The dashboard as Grafana imports it."""
    source: Body = read_file(SOURCE / "dashboard.yaml")[0].body
    panels = enumerate(_panels(source["rows"], source["filter"]), start=1)
    body = {**source["dashboard"], "panels": [{"id": number, **panel} for number, panel in panels]}
    return json.dumps(body, indent=1) + "\n"


def _panels(rows: list[Mapping[str, Any]], shown: str) -> Iterator[Body]:
    top = 0
    for row in rows:
        place = _place(0, top, _WIDTH, 1)
        yield {"type": "row", "title": row["title"], "gridPos": place, **_OPEN_ROW}
        top += 1
        left = 0
        height = max(_HEIGHTS[kind] for _, _, kind, _ in row["panels"])
        width = _WIDTH // min(len(row["panels"]), 4 if row is rows[0] else 2)
        for title, unit, kind, queries in row["panels"]:
            yield _panel(title, unit, kind, queries, shown) | {
                "gridPos": _place(left, top, width, height)
            }
            left += width
            if left >= _WIDTH:
                left, top = 0, top + height
        top += height if left else 0


def _place(left: int, top: int, width: int, height: int) -> Body:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(title: str, unit: str, kind: str, queries: Mapping[str, str], shown: str) -> Body:
    return {
        "type": kind,
        "title": title,
        "datasource": _DATA_SOURCE,
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _DATA_SOURCE,
                "expr": query.replace("{f}", shown).replace("{r}", _RATE),
                "legendFormat": legend,
                **({"format": "table", "instant": True} if kind == "table" else {}),
            }
            for number, (legend, query) in enumerate(queries.items())
        ],
    }
