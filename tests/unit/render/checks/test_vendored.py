"""Builds with upstream's charts in place of ours, and with its real ones."""

import shutil
import subprocess
from pathlib import Path

import pytest

from chartkit.charts.upstream.vendored import vendor_chart
from chartkit.errors import InputError
from chartkit.project.project import read_project
from chartkit.render.environment import of_environment
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside
from tests.unit.charts.upstream import vendored_files
from tests.unit.charts.upstream.vendored_files import chart, packed_chart, with_subchart

PROJECT = vendored_files.PROJECT + "    exclude: [{namespaces: [kyverno]}]\n"


def _vendor(folder: Path, files: dict[str, bytes], name: str, version: str = "3.9.0") -> None:
    archive = folder / f"{name}.tgz"
    archive.write_bytes(packed_chart(files, name))
    vendor_chart(name, version, folder, str(archive))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with all three charts vendored and rendered; tests that change it copy it."""
    folder = tmp_path_factory.mktemp("vendored")
    (folder / "chartkit.yaml").write_text(PROJECT)
    _vendor(folder, with_subchart(chart(), packed=True), "kyverno")
    _vendor(folder, chart("kyverno-policies"), "kyverno-policies")
    _vendor(folder, chart("policy-reporter", "3.1.0", "3.1.0"), "policy-reporter", "3.1.0")
    done = _run(folder, kustomize=True)
    assert not done.failed, done.rows
    assert [path.name for path in done.written] == [
        *("kyverno", "kyverno-policies", "policy-reporter") * 2,
        *("dev", "prd"),
    ]
    return folder


@pytest.fixture
def project(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "project"))


def _run(folder: Path, check: bool = False, kustomize: bool = False) -> RenderResult:
    found = read_project(folder)
    environments = tuple(found.environments.values())
    return render_project(found, RenderOptions(environments, check=check, kustomize=kustomize))


def _rows(done: RenderResult, check: str, environment: str = "dev") -> list[Row]:
    return [row for row in done.rows if row.check == check and row.environment == environment]


def test_the_charts_are_upstreams(written: Path) -> None:
    charts = written / "charts"
    for name, files in (("kyverno", chart()), ("policy-reporter", chart("policy-reporter"))):
        for path in ("README.md", "templates/NOTES.txt", "values.yaml"):
            assert (charts / name / path).read_bytes() == files[path]
    inner = chart("extra", "0.1.0", "v1")["templates/config.yaml"]
    assert (charts / "kyverno/charts/extra/templates/config.yaml").read_bytes() == inner
    assert not list(charts.rglob("chartkit.lock"))
    assert "replicas: 3" in (charts / "kyverno/values_prd.yaml").read_text()
    assert (charts / "policy-reporter/values_dev.yaml").read_text().count("\n") == 1
    assert (
        "podSecurityStandard: baseline" in (charts / "kyverno-policies/values_dev.yaml").read_text()
    )


def test_what_is_installed(written: Path) -> None:
    rendered = written / "rendered/prd"
    engine = (rendered / "kyverno.yaml").read_text()
    assert engine.count("kind: Deployment") == 4
    assert "name: extra" in engine
    assert "name: policy-reporter" in (rendered / "policy-reporter.yaml").read_text()
    policies = (rendered / "kyverno-policies.yaml").read_text()
    assert "validationFailureAction: Audit" in policies
    assert "- kyverno" in policies
    overlay = (written / "kustomize/policy-reporter/base/objects.yaml").read_text()
    assert "name: policy-reporter" in overlay


def test_every_check_speaks_of_them(written: Path) -> None:
    done = _run(written, check=True)
    assert not done.failed
    assert done.drift == ""
    notes = [row.message for row in _rows(done, "charts", "all")]
    assert notes[0] == f"kyverno 3.9.0 is upstream's own, from {written}/kyverno.tgz"
    assert len(notes) == 3
    for check, count in (("values", 3), ("helm", 3), ("policies", 1), ("permissions", 1)):
        found = _rows(done, check)
        assert [row.outcome for row in found] == [Outcome.PASS] * count, found
    (examples,) = _rows(done, "examples")
    assert examples.outcome is Outcome.NOTE
    (available,) = _rows(done, "availability", "prd")
    assert available.message.endswith("admission 3, background 2, cleanup 2, reports 2")
    assert _rows(done, "engine's pods")[0].message == "Kyverno's own: 5 objects, no violation"
    assert "policy-reporter: 1 object, no violation" in {
        r.message for r in _rows(done, "workloads")
    }


def test_what_differs_is_told_of_all_three(written: Path) -> None:
    found = read_project(written)
    side = of_environment(found, found.environments["dev"], "dev")
    assert {"kyverno-admission-controller", "extra", "disallow-host-path", "policy-reporter"} <= {
        each.name for each in side.resources
    }


def test_hand_edits_stay_when_another_version_comes(project: Path) -> None:
    values = project / "charts/kyverno/values_prd.yaml"
    values.write_text(f"{values.read_text()}text: mine # why\nsomething: {{else: 1}}\n")
    shutil.rmtree(project / "vendor/charts/kyverno")
    newer = chart(version="3.9.1", app="v1.19.1")
    newer["values.yaml"] += b"more: 1\n"
    del newer["README.md"]
    _vendor(project, newer, "kyverno", "3.9.1")
    done = _run(project)
    assert not done.failed
    assert "text: mine # why" in values.read_text()
    assert (project / "charts/kyverno/values.yaml").read_text().endswith("more: 1\n")
    assert not (project / "charts/kyverno/README.md").exists()
    (row,) = _rows(done, "values", "prd")[:1]
    assert row.outcome is Outcome.WARNING
    assert row.message == "the chart's values.yaml has no key 'something'"


def test_a_schema_of_the_charts_own_is_helms_to_judge(project: Path) -> None:
    shutil.rmtree(project / "vendor/charts/policy-reporter")
    schema = b"""{
      "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
      "properties": {"text": {"type": "string", "pattern": "^[[:lower:]]*$"}}
    }"""
    files = {**chart("policy-reporter", "3.1.0", "3.1.0"), "values.schema.json": schema}
    _vendor(project, files, "policy-reporter", "3.1.0")
    values = project / "charts/policy-reporter/values_dev.yaml"
    values.write_text("text: fits\nunknown: 1\n")
    assert [row.outcome for row in _rows(_run(project), "values")] == [Outcome.PASS] * 3
    values.write_text("text: DoesNot\n")
    done = _run(project)
    assert done.failed
    row = _rows(done, "values")[-1]
    assert (row.outcome, str(row.location)) == (Outcome.FAIL, f"{values}:1:1")
    assert row.message.startswith("the chart's schema refuses 'text'")


@pytest.mark.slow
def test_without_it_ours_comes_back(project: Path) -> None:
    shutil.rmtree(project / "vendor/charts/policy-reporter")
    shutil.rmtree(project / "vendor/charts/kyverno-policies")
    done = _run(project)
    assert len(_rows(done, "charts", "all")) == 1
    folder = project / "charts/kyverno-policies"
    text = (folder / "templates/baseline/disallow-host-path.yaml").read_text()
    assert text.encode() not in chart("kyverno-policies").values()
    assert (folder / "values.schema.json").is_file()


def test_a_changed_file_is_refused(project: Path) -> None:
    (project / "vendor/charts/kyverno/values.yaml").write_text("text: mine\n")
    with pytest.raises(InputError, match="was changed since it was vendored") as caught:
        _run(project)
    assert str(caught.value.location).endswith("vendor/charts/kyverno/values.yaml")


@pytest.mark.parametrize("name", ["kyverno", "kyverno-policies"])
def test_the_environments_kyverno_must_be_the_charts(project: Path, name: str) -> None:
    shutil.rmtree(project / "vendor/charts" / name)
    _vendor(project, chart(name, "3.8.1", "v1.18.1"), name, "3.8.1")
    with pytest.raises(InputError, match=r"Kyverno 1\.18, not 1\.19") as caught:
        _run(project)
    assert str(caught.value.location) == f"{project}/chartkit.yaml:4:5"
    file = project / "chartkit.yaml"
    file.write_text(file.read_text().replace("1.19", "1.18"))
    other = {"kyverno": "kyverno-policies", "kyverno-policies": "kyverno"}[name]
    shutil.rmtree(project / "vendor/charts" / other)
    _vendor(project, chart(other, "3.8.1", "v1.18.1"), other, "3.8.1")
    assert not _run(project, check=False).failed


def test_a_chart_that_nobody_installs(project: Path) -> None:
    file = project / "chartkit.yaml"
    file.write_text(
        file.read_text().replace('kubernetes: "1.34"\n', 'kubernetes: "1.34"\n    engine: false\n')
    )
    notes = [row.message for row in _rows(_run(project), "charts", "all")]
    assert notes[0] == "kyverno is vendored, and no environment installs it (engine: false)"


def test_a_values_file_of_its_own_is_in_the_way(project: Path) -> None:
    shutil.rmtree(project / "vendor/charts/policy-reporter")
    files = {**chart("policy-reporter", "3.1.0"), "values_dev.yaml": b"a: 1\n"}
    _vendor(project, files, "policy-reporter", "3.1.0")
    with pytest.raises(InputError, match=r"has a file values_dev\.yaml of its own"):
        _run(project)


UPSTREAM_PROJECT = beside(__file__)["upstream-project"]


@pytest.fixture(scope="module")
def modules() -> Path:
    """Go's module cache."""
    if shutil.which("go") is None:
        pytest.skip("go is not here, nor are Kyverno's modules")
    done = subprocess.run(
        ["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True, cwd="/"
    )
    return Path(done.stdout.strip()) / "github.com" / "kyverno"


def _charts(modules: Path, version: str) -> Path:
    folder = modules / f"kyverno@{version}" / "charts"
    if not folder.is_dir():
        pytest.skip(f"Kyverno {version} is not in Go's module cache")
    return folder


def test_charts_of_an_older_kyverno(modules: Path, tmp_path: Path) -> None:
    charts = _charts(modules, "v1.14.0")
    (tmp_path / "chartkit.yaml").write_text(UPSTREAM_PROJECT)
    for name in ("kyverno", "kyverno-policies"):
        assert vendor_chart(name, "3.4.0", tmp_path, str(charts / name)).changed
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    assert [row for row in done.rows if row.outcome is Outcome.FAIL] == []
    right = {row.check: row.message for row in done.rows if row.outcome is Outcome.PASS}
    assert right["policies"] == "17 policies compile"
    assert right["engine's pods"].endswith("no violation")
    assert "admission 3, background 2" in right["availability"]
    warned = [row.check for row in done.rows if row.outcome is Outcome.WARNING]
    assert set(warned) <= {"compatibility"}
    policies = (tmp_path / "rendered/prd/kyverno-policies.yaml").read_text()
    assert policies.count("ailureAction: Enforce") == 1
    assert policies.count("ailureAction: Audit") >= 16


def test_a_checkout_without_its_subcharts(modules: Path, tmp_path: Path) -> None:
    charts = _charts(modules, "v1.17.0")
    with pytest.raises(InputError, match="the subchart 'kyverno-api' is not in charts/"):
        vendor_chart("kyverno", "3.7.0", tmp_path, str(charts / "kyverno"))


def test_a_chart_with_one_controller_for_all(modules: Path, tmp_path: Path) -> None:
    charts = _charts(modules, "v1.9.2")
    with pytest.raises(InputError, match=r"installs Kyverno 1\.9, whose chart has one controller"):
        vendor_chart("kyverno", "2.7.2", tmp_path, str(charts / "kyverno"))
