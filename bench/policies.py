"""Makes the policies of the scan benchmark: the restricted standard in CEL, as the chart has it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from chartkit.charts.policies.chart import plan
from chartkit.documents.yaml_dump import dump_documents
from chartkit.helm.render import render_chart
from chartkit.project.project import read_project

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
