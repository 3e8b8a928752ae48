"""`chartkit init --monitoring`: each mode renders and passes every check."""

from pathlib import Path

import pytest

from chartkit.documents.reader import read_file
from chartkit.project.project import read_project
from chartkit.render.model import Outcome, RenderResult
from chartkit.render.pipeline import RenderOptions, render_project
from tests.e2e.command import chartkit
from tests.e2e.transcript import check_page
from tests.unit.project.project_files import write_profile

REPORTER = """\
    policyReporter: {version: "3.9.1", ingress: {host: reports.example.test}}
"""
BALANCERS = """\
policies:
  eks-best-practices/disallow-public-load-balancers: {}
  eks-best-practices/require-encryption-aws-loadbalancers: {}
  eks-best-practices/require-target-type-ip: {}
"""


def rendered(folder: Path, *arguments: str) -> RenderResult:
    """A new project, rendered in process; one environment is checked."""
    assert chartkit(folder, "init", *arguments).code == 0
    project = read_project(folder)
    return render_project(project, RenderOptions((project.environment("prd"),)))


def passed(done: RenderResult) -> None:
    assert [row for row in done.rows if row.outcome in (Outcome.FAIL, Outcome.WARNING)] == []
    assert done.written


@pytest.mark.slow
def test_monitoring_page_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Node ports."""
    check_page("how-to/monitoring.md", tmp_path, request.config.getoption("--update-golden"))


@pytest.mark.slow
def test_monitoring_operator(tmp_path: Path) -> None:
    passed(rendered(tmp_path, "--profile", "pss-baseline", "--monitoring", "prometheus-operator"))
    kinds = [each.body["kind"] for each in read_file(tmp_path / "rendered/prd/kyverno.yaml")]
    assert (kinds.count("ServiceMonitor"), kinds.count("PrometheusRule")) == (4, 1)
    values = tmp_path / "chartkit.yaml"
    values.write_text(values.read_text().replace("com/v1: true", "com/v1: false"))
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions((project.environment("prd"),)))
    assert done.failed
    assert any(
        row.outcome is Outcome.FAIL and "monitoring.coreos" in row.message for row in done.rows
    )


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["--eks", "--kubernetes"])
def test_load_balancers_beside_policies_about_them(cluster: str, tmp_path: Path) -> None:
    write_profile(tmp_path / "balancers.yaml", BALANCERS)
    given = ("--profile", "./balancers.yaml", cluster, "1.34", "--monitoring", "loadbalancer")
    passed(rendered(tmp_path, *given))
    values = (tmp_path / "chartkit.yaml").read_text()
    assert "the controllers serve their metrics without TLS" in values


@pytest.mark.slow
def test_policy_reporter(project: Path) -> None:
    """Its values files alone are written."""
    file = project / "chartkit.yaml"
    text = file.read_text()
    assert text.count("    action: Audit\n") == 1
    file.write_text(text.replace("    action: Audit\n", "    action: Audit\n" + REPORTER))
    done = render_project(read_project(project), RenderOptions(()))
    assert [path.name for path in done.written] == ["policy-reporter"]
    files = sorted(path.name for path in (project / "charts/policy-reporter").glob("*"))
    assert files == [".chartkit", "values_prd.yaml"]
    (values,) = read_file(project / "charts/policy-reporter/values_prd.yaml")
    assert values.body["plugin"] == {"kyverno": {"enabled": True}}


def test_monitoring_refuses_wrong_input(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "init", "--monitoring", "sidecar")
    assert (done.code, done.out) == (2, "")
    assert "'sidecar'" in done.err
    assert list(tmp_path.iterdir()) == []
