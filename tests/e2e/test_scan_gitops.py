"""Releases that objects of Flux and Argo CD declare, in scans and in checks of values."""

import base64
import json
import re
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import Done, chartkit

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
TEMPLATE = _TEXTS["template"]
FLUX = _TEXTS["flux"]
ARGO = _TEXTS["argo"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a chart and a policy."""
    (tmp_path / "charts" / "web" / "templates").mkdir(parents=True)
    (tmp_path / "charts" / "web" / "Chart.yaml").write_text(
        "apiVersion: v2\nname: web\nversion: 1.0.0\n"
    )
    (tmp_path / "charts" / "web" / "templates" / "config.yaml").write_text(TEMPLATE)
    (tmp_path / "charts" / "web" / "values.yaml").write_text("size: 1\n")
    (tmp_path / "charts" / "web" / "values_large.yaml").write_text("size: 7\n")
    (tmp_path / "policy.yml").write_text(POLICY)
    (tmp_path / ".git").mkdir()
    (tmp_path / "releases").mkdir()
    return tmp_path


def _scan(folder: Path, text: str, *more: str) -> Done:
    (folder / "releases" / "release.yaml").write_text(text)
    return chartkit(folder, "scan", "releases", "-p", "policy.yml", "-o", "json", *more)


def _rows(done: Done) -> list[tuple[str, str]]:
    assert done.code in (0, 1), done.err
    rows = json.loads(done.out)["results"]
    return [(row["resource"], row["location"]) for row in rows if row["result"] != "skip"]


def test_values_of_a_helm_release(folder: Path) -> None:
    done = _scan(folder, f"{FLUX}  values:\n    size: 9\n")
    place = "charts/web/templates/config.yaml:6:3"
    assert _rows(done) == [("v1/ConfigMap/apps/web", place)]
    text = chartkit(folder, "scan", "releases", "-p", "policy.yml").out
    assert "(value size of releases/release.yaml:10:5)" in text


def test_values_from_config_maps_and_secrets(folder: Path) -> None:
    secret = base64.b64encode(b"size: 8\n").decode()
    text = f"""\
{FLUX}  releaseName: other
  targetNamespace: elsewhere
  valuesFrom:
  - {{kind: ConfigMap, name: first}}
  - {{kind: Secret, name: second, valuesKey: own.yaml}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: first, namespace: apps}}
data: {{values.yaml: "size: 2"}}
---
apiVersion: v1
kind: Secret
metadata: {{name: second, namespace: apps}}
data: {{own.yaml: {secret}}}
"""
    assert _rows(_scan(folder, text))[0][0] == "v1/ConfigMap/elsewhere/other"
    path = text.replace("valuesKey: own.yaml", "valuesKey: size, targetPath: size").replace(
        f"own.yaml: {secret}", f"size: {base64.b64encode(b'6').decode()}"
    )
    assert _rows(_scan(folder, path))[0][0] == "v1/ConfigMap/elsewhere/other"


def test_values_that_are_not_there_are_named(folder: Path) -> None:
    text = f"{FLUX}  valuesFrom:\n  - {{kind: Secret, name: gone}}\n"
    done = _scan(folder, text)
    said = "releases/release.yaml:10:5: warning gitops: HelmRelease 'web': the Secret 'gone' of its"
    assert said in done.err
    assert _scan(folder, text.replace("gone}", "gone, optional: true}")).err == ""


@from_table("helm")
def test_values_of_an_application(folder: Path, helm: str) -> None:
    done = _scan(folder, f"{ARGO}    {helm}\n")
    assert _rows(done) == [("v1/ConfigMap/shop/shop", "charts/web/templates/config.yaml:6:3")]
    assert done.err == ""


def test_several_sources_and_their_references(folder: Path) -> None:
    text = f"""\
{ARGO.partition("  source:")[0]}  sources:
  - {{repoURL: https://git.example.com/a/b, ref: own}}
  - repoURL: https://git.example.com/a/b
    path: charts/web
    helm: {{valueFiles: [$own/charts/web/values_large.yaml, missing.yaml]}}
  - {{repoURL: https://charts.example.com, chart: redis, targetRevision: 1.0.0}}
"""
    done = _scan(folder, text)
    assert len(_rows(done)) == 1
    assert "there is no values file 'missing.yaml'" in done.err
    said = "Application 'shop': its chart 'redis' is at https://charts.example.com: its objects are"
    assert re.search(f"releases/release.yaml:11:[0-9]+: note gitops: {said}", done.err)


def test_lists_of_an_application_set_are_applications(folder: Path) -> None:
    text = beside(__file__)["text"]
    done = _scan(folder, text, "--detailed")
    assert [name for name, _ in _rows(done)] == [
        "v1/ConfigMap/one/web-one",
        "v1/ConfigMap/two/web-two",
    ]
    unknown = text.replace("list: {elements", "git: {elements")
    assert "its Applications of the generators git are not known" in _scan(folder, unknown).err


@from_table("before", "after", "said")
def test_charts_that_are_elsewhere_are_named(
    folder: Path, before: str, after: str, said: str
) -> None:
    done = _scan(folder, FLUX.replace(before, after))
    assert said in done.err
    assert "releases/release.yaml:7:7: note gitops: HelmRelease 'web': its chart" in done.err
    assert done.code == 0


def test_values_that_cannot_be_read_are_named(folder: Path) -> None:
    done = _scan(folder, f"{ARGO}    helm: {{values: 'a: ['}}\n")
    assert "warning gitops: Application 'shop': values" in done.err
    assert done.code == 0
    done = _scan(folder, f"{ARGO}    helm: {{values: '- a'}}\n")
    assert "values must be a mapping of values" in done.err


def test_a_chart_that_does_not_render_fails_the_scan(folder: Path) -> None:
    (folder / "charts" / "web" / "templates" / "config.yaml").write_text("{{ fail `no` }}")
    done = _scan(folder, FLUX)
    assert done.code == 2
    assert "HelmRelease 'web': its chart './charts/web' does not render" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("declared", [FLUX, ARGO])
def test_a_chart_without_its_dependencies_is_one_row(folder: Path, declared: str) -> None:
    with (folder / "charts" / "web" / "Chart.yaml").open("a") as chart:
        chart.write(
            "dependencies:\n- {name: redis, version: 1.0.0, repository: https://a.example}\n"
        )
    (folder / "releases" / "release.yaml").write_text(declared)
    done = chartkit(folder, "scan", ".", "-p", "policy.yml")
    assert done.code == 2
    [row] = [line for line in done.err.splitlines() if " unread: " in line]
    assert row.startswith("charts/web/Chart.yaml:5:4: error unread: depends on the chart 'redis'")


@pytest.mark.slow
def test_values_of_kyverno_in_objects_are_checked(folder: Path) -> None:
    text = beside(__file__)["values_of_kyverno_in_objects_are_checked"]
    (folder / "kyverno.yaml").write_text(text)
    done = chartkit(folder, "values", "lint", "kyverno.yaml")
    assert done.code == 1
    assert "kyverno.yaml:8:5: error CK007" in done.out
    assert "kyverno.yaml:20:11: error CK001: unknown key 'nope'" in done.out
    assert "note gitops: Application 'redis': the chart 'redis' is not here" in done.out
    fixed = chartkit(folder, "values", "lint", "kyverno.yaml", "--fix")
    assert fixed.code == 2
    assert (folder / "kyverno.yaml").read_text() == text


def test_values_of_other_charts_in_objects_are_checked(folder: Path) -> None:
    (folder / "release.yaml").write_text(f"{FLUX}  values: {{sise: 9}}\n")
    done = chartkit(folder, "values", "lint", "release.yaml")
    assert "release.yaml:9:12: " in done.out
    assert "'sise'" in done.out
