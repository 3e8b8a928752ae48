"""The fields of Chart.yaml that people and registries read."""

import json
from pathlib import Path

import pytest

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.policies import chart as policies_chart
from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.project.project import read_project

MAINTAINER = {"name": "platform", "email": "platform@example.com", "url": "https://example.com"}


def charts(folder: Path, **settings: object) -> tuple[Body, Body]:
    file = folder / "chartkit.yaml"
    file.write_text(
        json.dumps(
            {
                "profiles": ["supply-chain"],
                "environments": {"dev": {"kyverno": "1.19", "kubernetes": "1.35"}},
                **settings,
            }
        )
    )
    project = read_project(file)
    policies = policies_chart.plan(project).files["Chart.yaml"]
    engine = engine_chart.plan({}, ">=1.33-0", metadata=project.metadata).files["Chart.yaml"]
    return parse_yaml(engine), parse_yaml(policies)


def test_charts_have_the_version_and_the_people_of_the_project(tmp_path: Path) -> None:
    for chart in charts(
        tmp_path, chartVersion="1.4.0-rc.1", maintainers=[MAINTAINER], sources=["https://a.example"]
    ):
        assert chart["version"] == "1.4.0-rc.1"
        assert chart["maintainers"] == [MAINTAINER]
        assert chart["sources"] == ["https://a.example"]
        assert chart["appVersion"].startswith("v1.")


def test_without_settings_charts_name_kyverno_and_nobody(tmp_path: Path) -> None:
    engine, policies = charts(tmp_path)
    assert engine["version"] == policies["version"]
    assert engine["sources"] == ["https://github.com/kyverno/kyverno"]
    for chart in (engine, policies):
        assert "maintainers" not in chart
        assert chart["icon"].startswith("https://")
        assert chart["annotations"]["artifacthub.io/category"] == "security"
        assert all(isinstance(value, str) for value in chart["annotations"].values())


def test_text_of_a_project_cannot_add_fields(tmp_path: Path) -> None:
    for chart in charts(tmp_path, home="x\nname: other", icon="{{ .Values.a }}"):
        assert chart["home"] == "x\nname: other"
        assert chart["name"].startswith("kyverno")


@pytest.mark.parametrize("version", ["1.4", "v1.4.0", "1.4.0.0", "latest", "01.2.3"])
def test_a_version_that_helm_refuses_has_its_place(version: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a chart version") as caught:
        charts(tmp_path, chartVersion=version)
    assert caught.value.location is not None
    assert caught.value.location.path == "/chartVersion"
