"""Makes the policies of the scan benchmark: the restricted standard in CEL, as the chart has it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from chartkit.chart.policies_chart import plan
from chartkit.chart.project import read_project
from chartkit.chart.render import render_chart
from chartkit.yaml_dump import dump_documents

_PROJECT = """\
profiles: [pss-restricted]
environments:
  bench: {kyverno: "1.19", kubernetes: "1.35"}
"""
_VALUES = {
    "kyvernoVersion": "1.19",
    "podSecurityStandard": "restricted",
    "policyType": "ValidatingPolicy",
}


def write_policies(target: Path) -> None:
    """Writes the ValidatingPolicies of profile pss-restricted to target."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "chartkit.yaml").write_text(_PROJECT)
        chart = plan(read_project(Path(folder)))
    rendered = render_chart(chart, [_VALUES], namespace="kyverno", kube_version="v1.35.0")
    target.write_text(dump_documents(each.body for each in rendered.resources), "utf-8")
