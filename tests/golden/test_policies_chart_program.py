"""The policies chart through the real Helm program: what the library renders, it renders too."""

import subprocess
from pathlib import Path

import pytest

from chartkit.charts.policies.chart import plan
from chartkit.documents.reader import read_text, resources
from chartkit.project.project import read_project
from tests.data import from_table
from tests.files import write_files

_FOLDER = Path(__file__).parent / "policies_chart"
_VERSIONS = {
    "v1-8": "v1.25.0",
    "v1-10": "v1.26.0",
    "v1-12": "v1.29.3",
    "v1-19": "v1.34.1-eks-113cf36",
}


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planned = plan(read_project(_FOLDER))
    folder = tmp_path_factory.mktemp("charts") / planned.name
    return write_files(folder, {**planned.files, **planned.values})


def _helm(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", _VERSIONS)
def test_policies_chart_program_lint(chart: Path, helm_program: str, name: str) -> None:
    done = _helm(helm_program, "lint", "--strict", chart, "-f", chart / f"values_{name}.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "version"), _VERSIONS.items())
def test_policies_chart_program_template(
    chart: Path, helm_program: str, name: str, version: str
) -> None:
    values = chart / f"values_{name}.yaml"
    arguments = ("template", "release", chart, "-n", "kyverno", "-f", values)
    done = _helm(helm_program, *arguments, "--kube-version", version)
    assert done.returncode == 0, done.stderr
    found = {each.name: each.body for each in resources(read_text(done.stdout))}
    golden = resources(read_text((_FOLDER / "expected" / f"{name}.yaml").read_text("utf-8")))
    assert found == {each.name: each.body for each in golden}


@from_table("flags", "message")
def test_policies_chart_program_refusals(
    chart: Path, helm_program: str, flags: list[str], message: str
) -> None:
    version = [] if "--kube-version" in flags else ["--kube-version", "v1.34.0"]
    done = _helm(helm_program, "template", "release", chart, *version, *flags)
    assert done.returncode != 0
    assert message in done.stderr
