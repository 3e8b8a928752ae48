"""The chart's value that a field shows, in the reports."""

import json
from collections import Counter
from pathlib import Path

import pytest

from chartkit.helm.render import render_chart
from chartkit.model import RuleResult, RuleType, Status
from chartkit.report.json_report import JsonWriter, YamlWriter
from chartkit.report.model import ReportOptions, field_places
from chartkit.report.text import TextWriter

RESULT = RuleResult(
    "p", "r", RuleType.VALIDATION, Status.FAIL, "no", fields=("/spec/ports/0/port", "/spec/type")
)


@pytest.mark.parametrize("writer", [JsonWriter, TextWriter, YamlWriter])
def test_a_field_of_a_chart_names_the_value_that_it_shows(tmp_path: Path, writer: object) -> None:
    chart = tmp_path / "app"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("service:\n  ports:\n  - port: 80\n")
    (chart / "templates/s.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  type: NodePort\n"
        "  ports:\n    {{- toYaml .Values.service.ports | nindent 4 }}\n"
    )
    (service,) = render_chart(chart, shown=Path("app")).resources
    port, kind = field_places(service, RESULT)
    assert port.members == {
        "field": "spec.ports[0].port",
        "location": "app/templates/s.yaml:7",
        "value": "service.ports[0].port",
        "valueLocation": "app/values.yaml:3:5",
    }
    assert kind.members == {"field": "spec.type", "location": "app/templates/s.yaml:5:3"}
    report = writer(ReportOptions())  # type: ignore[operator]
    report.add(service, [RESULT])
    text = "".join(report.finish(Counter({Status.FAIL: 1})))
    if writer is TextWriter:
        assert "app/templates/s.yaml:7  spec.ports[0].port (value service.ports[0].port of" in text
        return
    assert "service.ports[0].port" in text
    if writer is JsonWriter:
        (row,) = json.loads(text)["results"]
        assert {key: row[key] for key in port.members} == port.members
        assert row["fields"] == [port.members, kind.members]
