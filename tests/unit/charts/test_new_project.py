"""A new project's commented suggestions work as they are."""

import re
from pathlib import Path

import pytest

from chartkit.charts.new_project import project_files, write_project
from chartkit.kyverno.versions import Version
from chartkit.project.project import read_project
from chartkit.render.model import Outcome
from chartkit.render.pipeline import RenderOptions, render_project

_COMMENTED = re.compile(r"^( +)# ((?:- |  )*[a-z][A-Za-z-]*:.*)$", re.MULTILINE)


def _uncommented(folder: Path, profile: str) -> Path:
    write_project(folder, project_files([profile], Version(1, 34), eks=True))
    file = folder / "chartkit.yaml"
    text = file.read_text()
    prose = "Single policies go further:", "Objects that no policy looks at:"
    assert all(each in text for each in prose)
    lines = [
        line if any(each in line for each in prose) else _COMMENTED.sub(r"\1\2", line)
        for line in text.splitlines()
    ]
    file.write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("profile", ["pss-restricted", "eks-best-practices"])
def test_they_are_read(tmp_path: Path, profile: str) -> None:
    prd = read_project(_uncommented(tmp_path, profile)).environments["prd"]
    assert [each.resources for each in prd.exclude] == [{"namespaces": ["kube-system"]}]
    assert "disallow-privileged-containers" in prd.policies


@pytest.mark.slow
def test_they_render(tmp_path: Path) -> None:
    project = read_project(_uncommented(tmp_path, "eks-best-practices"))
    done = render_project(project, RenderOptions((project.environments["prd"],)))
    assert not done.failed
    line = next(
        at
        for at, text in enumerate((tmp_path / "chartkit.yaml").read_text().splitlines(), 1)
        if "- namespaces: [kube-system]" in text
    )
    found = [row for row in done.rows if row.check == "examples"]
    assert {row.outcome for row in found} == {Outcome.NOTE, Outcome.WARNING}
    assert {f"{row.location}" for row in found} == {f"{tmp_path}/chartkit.yaml:{line}:9"}
