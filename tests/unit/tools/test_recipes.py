"""Recipes install chartkit from its repository, at the tag of this version."""

import re
from pathlib import Path

import pytest

from chartkit import __version__
from chartkit.documents.reader import parse_yaml
from tools.recipes import ROOT, files, tagged

_INSTALLS = re.compile(r"\b(?:pip3?|pipx|uv|uvx)(?: \w+)*? (?:install|run|tool)\b([^\n`]*)")


@pytest.mark.parametrize("file", list(files()), ids=lambda file: file.name)
def test_no_recipe_takes_chartkit_from_an_index(file: Path) -> None:
    text = file.read_text("utf-8")
    assert text == tagged(text), "python -m tools.recipes"
    for arguments in _INSTALLS.findall(text):
        for word in re.findall(r"[^\s'\"]+", arguments.partition("#")[0]):
            name = re.match(r"chartkit\b(?!@)", word)
            assert name is None or "@ git+" in arguments, arguments


def test_the_changelog_begins_with_this_version() -> None:
    (heading, *_) = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert re.fullmatch(rf"\[{re.escape(__version__)}\]( - \d{{4}}-\d\d-\d\d)?", heading)


def test_the_component_installs_from_the_repository() -> None:
    header = (ROOT / "templates/chartkit/template.yml").read_text("utf-8").partition("---\n")[0]
    package = parse_yaml(header)["spec"]["inputs"]["package"]["default"]
    assert re.fullmatch(r"git\+https://\S+/chartkit@v\d+\.\d+\.\d+", package)


def test_actions_are_pinned_by_commit() -> None:
    found = 0
    for file in (ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml")):
        for used in re.findall(r"uses: (\S+.*)", file.read_text("utf-8")):
            found += 1
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used
    assert found > 8


def test_nothing_is_published_that_was_not_built_twice_and_tried_on_each_system() -> None:
    jobs = parse_yaml((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    systems = {name.partition("-")[0] for name in jobs["platforms"]["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos", "windows"}
    assert set(jobs["publish"]["needs"]) == {"build", "platforms"}
    assert any("cmp " in step.get("run", "") for step in jobs["build"]["steps"])


def test_the_job_that_attests_runs_no_tests() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    jobs = parse_yaml(text)["jobs"]
    scripts = {
        name: " ".join(step.get("run", "") for step in job["steps"]) for name, job in jobs.items()
    }
    assert ".ci/run" in scripts["test"]
    for name, job in jobs.items():
        if "id-token" in job.get("permissions", {}):
            assert not re.search(r"\.ci/run|make |pytest|apt", scripts[name])
            assert name != "test"
