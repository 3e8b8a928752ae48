"""Both charts under the real Helm, a program, for each environment of a project."""

import shutil
import subprocess
from pathlib import Path

import pytest

from chartkit.documents.reader import read_text, resources
from chartkit.helm.render import dry_run, render_chart
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import current
from chartkit.model import Resource
from chartkit.project.project import read_project
from tests.e2e.command import chartkit, snapshot
from tests.shared import ROOT

pytestmark = pytest.mark.slow

CHARTS = ("kyverno", "kyverno-policies")
ENVIRONMENTS = ("dev", "qa", "prd")
PROJECTS = ("rendered", "root")
OLDEST, NEWEST = matrix()[current().version].oldest, matrix()[current().version].newest
OLDER = f"v{OLDEST.major}.{OLDEST.minor - 1}.0"
NEWER = f"v{NEWEST.major}.{NEWEST.minor + 1}.0"


@pytest.fixture(params=PROJECTS)
def project(request: pytest.FixtureRequest) -> Path:
    """A fresh project, and this one with its committed charts."""
    if request.param == "root":
        return ROOT
    folder: Path = request.getfixturevalue("rendered")
    return folder


def helm(program: str, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def identity(resource: Resource) -> tuple[str, str, str, str]:
    return resource.api_version, resource.kind, resource.namespace, resource.name


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_lint_and_template(helm_program: str, project: Path, chart: str, environment: str) -> None:
    folder = project / "charts" / chart
    values = folder / f"values_{environment}.yaml"
    version = read_project(project).environment(environment).kube_version
    given = ("--values", str(values), "--kube-version", version, "--namespace", "kyverno")
    assert "0 chart(s) failed" in helm(helm_program, "lint", str(folder), "--strict", *given)
    printed = helm(helm_program, "template", chart, str(folder), *given)
    theirs = {identity(each): each.body for each in resources(read_text(printed))}
    rendered = render_chart(
        folder, [values], release=chart, namespace="kyverno", kube_version=version
    )
    ours = {identity(each): each.body for each in (*rendered.resources, *rendered.hooks)}
    assert theirs == ours


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_dry_run_shows_notes(project: Path, chart: str, environment: str) -> None:
    folder = project / "charts" / chart
    env = read_project(project).environment(environment)
    values = folder / f"values_{environment}.yaml"
    done = dry_run(
        folder, [values], release=chart, namespace="kyverno", kube_version=env.kube_version
    )
    if chart == "kyverno-policies":
        for profile in env.profiles:
            assert profile in done.notes
        assert f"Mode: {env.action}" in done.notes
    else:
        assert "Kyverno" in done.notes


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("version", [OLDER, NEWER, f"{NEWER}-eks-ad4801"])
def test_a_cluster_outside_the_range_is_refused(
    helm_program: str, project: Path, chart: str, version: str
) -> None:
    cluster = ["--kube-version", version, "--api-versions", "apiregistration.k8s.io/v1"]
    done = subprocess.run(
        [helm_program, "template", str(project / "charts" / chart), *cluster],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert ("requires kubeVersion" in done.stderr) is (version == OLDER)
    assert ("is not supported by" in done.stderr) is (version != OLDER)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("version", [[], ["--kube-version", NEWER]])
def test_offline_a_chart_renders_for_any_newer_version(
    helm_program: str, project: Path, chart: str, version: list[str]
) -> None:
    """Helm makes the newest version up that it knows itself."""
    done = subprocess.run(
        [helm_program, "template", str(project / "charts" / chart), *version],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("chart", CHARTS)
def test_an_unknown_key_fails_in_helm_itself(helm_program: str, project: Path, chart: str) -> None:
    arguments = ["--set", "reportController.x=1", "--kube-version", "v1.34.0"]
    done = subprocess.run(
        [helm_program, "template", str(project / "charts" / chart), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "additional properties 'reportController' not allowed" in done.stderr


def test_the_program_stands_in_for_the_library(
    helm_program: str, rendered: Path, tmp_path: Path
) -> None:
    project = Path(shutil.copytree(rendered, tmp_path / "project"))
    shutil.rmtree(project / "rendered")
    done = chartkit(project, "render", CHARTKIT_HELM=helm_program)
    assert done.code == 0, done.out + done.err
    assert snapshot(project) == snapshot(rendered)
