"""A project with one policy of its own, and that policy as its chart renders it."""

from pathlib import Path
from typing import Any

from chartkit.charts.plan import ChartPlan
from chartkit.helm.render import render_chart
from chartkit.model import Body
from tests.data import beside
from tests.unit.project.project_files import POLICY, write_policy, write_profile, write_project

_TEXTS = beside(__file__)
DEV = _TEXTS["dev"]
RULE = _TEXTS["rule"]
PATTERN = "      validate: {message: no, pattern: {metadata: {}}}\n"


def own_project(tmp_path: Path, policy: str = POLICY, lines: str = "", minimum: str = "1.6") -> Any:
    write_policy(tmp_path / "library", "own/mine", policy, minimum)
    write_profile(tmp_path / "own.yaml", "policies: {own/mine: {}}")
    return write_project(tmp_path, DEV + lines)


def mine(chart: ChartPlan, **values: Any) -> Body:
    rendered = render_chart(chart, [{"kyvernoVersion": "1.19", **values}], namespace="kyverno")
    return next(each.body for each in rendered.resources if each.name == "mine")


def first_rule(chart: ChartPlan, **values: Any) -> Body:
    rule: Body = mine(chart, **values)["spec"]["rules"][0]
    return rule
