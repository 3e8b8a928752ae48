"""Kustomizations, built by the real program: what `scan`, `render` and `adopt` say of them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import Done, chartkit
from tests.files import write_files

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
DEPLOYMENT = _TEXTS["deployment"]
PATCH = _TEXTS["patch"]
FILES = {
    "policy.yaml": POLICY,
    "deploy/base/deployment.yaml": DEPLOYMENT,
    "deploy/base/kustomization.yaml": "resources: [deployment.yaml]\nlabels: []\n",
    "deploy/dev/kustomization.yaml": "nameSuffix: -dev\nresources: [../base]\n",
    "deploy/prd/kustomization.yaml": "resources: [../base]\npatches: [{path: host.yaml}]\n",
    "deploy/prd/host.yaml": PATCH,
}
pytestmark = pytest.mark.usefixtures("kustomize")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path, FILES)


def _scan(folder: Path, *arguments: str) -> Done:
    return chartkit(folder, "scan", *arguments, "-p", "policy.yaml")


@pytest.mark.parametrize("path", ["deploy", "deploy/prd", "deploy/prd/kustomization.yaml", "."])
def test_a_violation_of_an_overlay_is_found_in_its_patch(folder: Path, path: str) -> None:
    done = _scan(folder, path)
    assert done.code == 1, done.out + done.err
    assert "deploy/prd/host.yaml:7:7  spec.template.spec.hostNetwork" in done.out
    built = 1 if "prd" in path else 2
    assert f"pass: {built - 1}, fail: 1" in done.out
    assert not done.err


def test_what_overlays_have_of_one_base_is_shown_once(folder: Path) -> None:
    base = folder / "deploy/base/deployment.yaml"
    base.write_text(DEPLOYMENT.replace("spec: {cont", "spec: {hostNetwork: true, cont"), "utf-8")
    (folder / "deploy/prd/kustomization.yaml").write_text("resources: [../base]\nlabels: []\n")
    (folder / "deploy/qa").mkdir()
    overlay = "nameSuffix: -qa\nresources: [../base]\n"
    (folder / "deploy/qa/kustomization.yaml").write_text(overlay, "utf-8")
    done = _scan(folder, "deploy")
    assert "Deployment/shop/web-dev, Deployment/shop/web-qa  deploy/base/deployment.yaml:1" in (
        done.out
    )
    assert "(deploy/dev, deploy/qa)" in done.out
    assert done.out.count("web-qa") == 1
    assert "fail: 4" in done.out


@pytest.mark.slow
def test_the_base_of_a_violation_and_what_several_processes_find(folder: Path) -> None:
    base = folder / "deploy/base/deployment.yaml"
    base.write_text(DEPLOYMENT.replace("spec: {cont", "spec: {hostNetwork: true, cont"), "utf-8")
    report = folder / "report.json"
    done = _scan(folder, "deploy", "-o", f"json={report}")
    assert done.code == 1
    assert f"fail: 2, warn: 0, error: 0, skip: 0 ({report})" in done.err
    text = report.read_text("utf-8")
    assert "deploy/base/deployment.yaml" in text
    assert "deploy/prd/host.yaml" in text
    large = "\n---\n".join(DEPLOYMENT.replace("web", f"web-{number}") for number in range(4_000))
    (folder / "deploy" / "large.yaml").write_text(large, "utf-8")
    again = _scan(folder, "deploy", "--jobs", "2")
    assert "pass: 4000, fail: 2" in again.out
    assert "deploy/prd/host.yaml:7:7" in again.out


def test_what_cannot_be_built_is_a_row(folder: Path, tmp_path: Path) -> None:
    (folder / "deploy/remote").mkdir()
    remote = folder / "deploy/remote/kustomization.yaml"
    remote.write_text("resources: [../base]\ncomponents: ['https://example.com/x']\n", "utf-8")
    done = _scan(folder, "deploy")
    assert done.code == 2
    assert "pass: 1, fail: 1" in done.out
    assert "deploy/remote/kustomization.yaml:2:14" in done.err
    assert "'https://example.com/x' is elsewhere, and is not downloaded" in done.err
    remote.unlink()
    empty = tmp_path / "empty"
    empty.mkdir()
    done = chartkit(folder, "scan", ".", "-p", "policy.yaml", PATH=str(empty))
    assert done.code == 2
    assert "2 kustomizations are not built: there is no kustomize or kubectl program" in done.err
    assert "hostNetwork" not in done.out


def test_changes_of_an_overlay_are_judged(folder: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    unchanged = _scan(folder, "deploy", "--changed-since", "HEAD")
    assert "fail: 1" not in unchanged.out
    patch = folder / "deploy/prd/host.yaml"
    patch.write_text(f"# More\n{PATCH}", "utf-8")
    done = _scan(folder, "deploy", "--changed-since", "HEAD")
    assert done.code == 1
    assert "pass: 0, fail: 1" in done.out
    assert "deploy/prd/host.yaml:8:7" in done.out


@pytest.mark.slow
def test_workloads_of_a_project_are_built(folder: Path, project: Path) -> None:
    shutil.copytree(folder / "deploy", project / "deploy")
    done = chartkit(project, "render", "dev", "--check", "--workloads", "deploy/prd")
    assert done.code == 1
    assert "disallow-host-namespaces" in done.out
    assert "deploy/" in done.out
    done = chartkit(project, "render", "dev", "--check", "--workloads", "deploy/dev")
    assert "disallow-host-namespaces" not in done.out
    assert "Deployment/shop/web-dev" in done.out


@pytest.mark.slow
def test_adopt_takes_what_kustomizations_build(folder: Path) -> None:
    shutil.copy(folder / "policy.yaml", folder / "deploy/base/policy.yaml")
    resources = "resources: [deployment.yaml, policy.yaml]\n"
    (folder / "deploy/base/kustomization.yaml").write_text(resources, "utf-8")
    versions = ("--kyverno", "1.18", "--kubernetes", "1.33")
    done = chartkit(folder, "adopt", "deploy", *versions, "--folder", "out")
    assert done.code == 0, done.err
    assert (folder / "out/policies/no-host-network").is_dir()
    text = "".join(each.read_text() for each in (folder / "out/baselines").iterdir())
    assert "apps/v1/Deployment/shop/web" in text
    assert os.path.relpath(folder / "deploy", folder / "out") in (
        folder / "out/chartkit.yaml"
    ).read_text("utf-8")
