"""Upstream's real charts, where Go's module cache has them: they render and pass every check."""

import shutil
import subprocess
from pathlib import Path

import pytest

from chartkit.charts.upstream.vendored import vendor_chart
from chartkit.errors import InputError
from chartkit.project.project import read_project
from chartkit.render.model import Outcome
from chartkit.render.pipeline import RenderOptions, render_project

PROJECT = """\
profiles: [pss-restricted]
environments:
  prd:
    kyverno: "1.14"
    kubernetes: "1.32"
    highAvailability: true
    exclude: [{namespaces: [kyverno]}]
    policies:
      disallow-host-path: {action: Enforce}
"""


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
    (tmp_path / "chartkit.yaml").write_text(PROJECT)
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
