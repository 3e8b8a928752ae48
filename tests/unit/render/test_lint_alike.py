"""Where an environment's chart counts as linted, `helm lint` finds nothing in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.helm.render import RenderedChart, lint_chart, render_chart
from chartkit.model import Body, Diagnostic, Location, Severity
from chartkit.render import lint_alike
from chartkit.render.lint_alike import LIBRARY, READ, lints_alike

ROOT = Path(__file__).parents[3]
TEMPLATE = """\
{{ .Values.indent }}apiVersion: {{ .Values.api }}
{{ .Values.indent }}kind: {{ .Values.kind }}
{{ .Values.indent }}metadata: {name: {{ .Values.name }}, labels: {a: "{{ .Values.label }}"}}
{{ .Values.indent }}spec: {{ .Values.spec | toJson }}
"""
SPEC = {"selector": {"matchLabels": {"a": "b"}}, "template": {}}
VALUES: Body = {
    "indent": "",
    "api": "apps/v1",
    "kind": "Deployment",
    "name": "web",
    "label": "x",
    "spec": SPEC,
}
NEWEST, OLDER = "v1.35.0", "v1.34.0"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 0.1.0}\n")
    (folder / "values.yaml").write_text("{}\n")
    (folder / "templates" / "web.yaml").write_text(TEMPLATE)
    return folder


def rendered(chart: Path, values: Body, version: str = OLDER) -> RenderedChart:
    return render_chart(chart, [VALUES, values], kube_version=version)


def found(chart: Path, values: Body) -> list[Diagnostic]:
    given = lint_chart(chart, [VALUES, values], kube_version=OLDER, schema=False)
    return [each for each in given if each.severity is not Severity.NOTE]


@pytest.mark.parametrize(
    ("values", "is_alike"),
    [
        ({}, True),
        ({"label": "y"}, True),
        ({"name": "other"}, True),
        ({"spec": {**SPEC, "replicas": 3}}, True),
        ({"name": "Not_A_Name"}, False),
        ({"name": "1"}, False),
        ({"indent": "  "}, False),
        ({"spec": {"selector": None}}, False),
        ({"api": "apps/v1beta1"}, False),
        ({"api": "policy/v1beta1", "kind": "PodDisruptionBudget"}, False),
        ({"kind": "List"}, False),
        ({"kind": "StatefulSet"}, False),
    ],
)
def test_a_chart_that_is_alike_lints_alike(chart: Path, values: Body, is_alike: bool) -> None:
    linted = rendered(chart, {}, NEWEST)
    assert not found(chart, {})
    other = rendered(chart, values)

    assert lints_alike([linted], other, chart) is is_alike
    if is_alike:
        assert not found(chart, values)


def test_what_other_environments_know_adds_up(chart: Path) -> None:
    both = [rendered(chart, {}, NEWEST), rendered(chart, {"kind": "StatefulSet"})]
    other = rendered(chart, {"kind": "StatefulSet", "label": "z"})

    assert not lints_alike(both[:1], other, chart)
    assert lints_alike(both, other, chart)
    assert not lints_alike([], other, chart)


def test_a_chart_with_warnings_of_helm_is_linted(chart: Path) -> None:
    linted, other = rendered(chart, {}, NEWEST), rendered(chart, {"label": "y"})
    warning = Diagnostic("helm-warning", Severity.NOTE, "w", Location("web"))

    assert not lints_alike([replace(linted, warnings=(warning,))], other, chart)
    assert not lints_alike([linted], replace(other, warnings=(warning,)), chart)


def test_the_rules_are_those_of_the_library_in_use() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    pinned = re.search(rf"^{LIBRARY}==(\S+)", lock, re.M)

    assert pinned is not None
    assert pinned[1] in READ, "read pkg/chart/v2/lint/rules of its Helm again"


def test_another_helm_lints_every_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lint_alike, "chosen_program", lambda: None)
    assert lint_alike.knows_rules()
    monkeypatch.setattr(lint_alike, "library_folder", lambda: tmp_path)
    (tmp_path / "helm_python_sdk-0.9.0.dist-info").mkdir()
    assert not lint_alike.knows_rules()
    monkeypatch.undo()
    monkeypatch.setattr(lint_alike, "chosen_program", lambda: "/usr/bin/helm")
    assert not lint_alike.knows_rules()
