"""A policy of a project's own next to one of the same name from another library."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from chartkit.charts.policies.chart import read_libraries
from chartkit.cli.policies import policies
from chartkit.errors import InputError
from chartkit.library.policies import Library, read_library, vendored_libraries
from chartkit.project.project import read_project
from chartkit.render.model import Outcome
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside
from tests.unit.library.upstream_files import CLUSTER_POLICY, vendored

_OURS = beside(__file__)["ours"]


def _project(folder: Path, library: str, name: str = "no-lb") -> Path:
    own = folder / library
    own.mkdir(parents=True)
    (own / "one.yaml").write_text(CLUSTER_POLICY.format(name=name))
    vendored(folder, "kyverno", {f"other/{name}": CLUSTER_POLICY})
    (folder / "ours.yaml").write_text(_OURS.replace("no-lb", name))
    (folder / "chartkit.yaml").write_text(
        f"library: [{library}]\nprofiles: [./ours.yaml]\nenvironments:\n  dev:\n"
        '    kyverno: "1.19"\n    kubernetes: "1.34"\n    engine: false\n    action: Enforce\n'
    )
    return folder


def _library(folder: Path) -> Library:
    return read_libraries(read_project(folder))


@pytest.mark.parametrize("library", ["mine", "theirs/kyverno"])
def test_one_s_own_goes_first(tmp_path: Path, library: str) -> None:
    folder = _project(tmp_path, library)
    found = _library(folder).find("no-lb")
    assert str(found.folder) == str(folder / library)
    assert found.instead_of == ("kyverno/other/no-lb",)


def test_a_vendored_one_is_named_by_its_library(tmp_path: Path) -> None:
    found = _library(_project(tmp_path, "mine")).find("kyverno/other/no-lb")
    assert found.folder.is_relative_to(tmp_path / "vendor")
    assert found.instead_of == ()


def test_one_s_own_goes_before_a_built_in_one(tmp_path: Path) -> None:
    library = _library(_project(tmp_path, "mine", "disallow-latest-tag"))
    assert library.find("disallow-latest-tag").library == "mine"
    built_in = "eks-best-practices/disallow-latest-tag"
    assert library.find("disallow-latest-tag").instead_of[0] == f"chartkit/{built_in}"
    assert library.find(built_in).qualified == f"chartkit/{built_in}"


def test_two_vendored_ones_stay_ambiguous(tmp_path: Path) -> None:
    for name in ("a", "b"):
        vendored(tmp_path, name, {"x/no-lb": CLUSTER_POLICY})
    with pytest.raises(InputError, match="there are 2 policies 'no-lb'") as caught:
        read_library([], {}, vendored_libraries(tmp_path)).find("no-lb")
    assert caught.value.hint == "say which: a/x/no-lb, b/x/no-lb"


def test_render_says_so(tmp_path: Path) -> None:
    project = read_project(_project(tmp_path, "mine"))
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    assert not done.failed
    (row,) = [row for row in done.rows if row.check == "own policies"]
    assert row.outcome is Outcome.NOTE
    assert row.message == "no-lb is mine/one, which goes before kyverno/other/no-lb"
    assert str(row.location) == f"{tmp_path}/ours.yaml:7:5"


@pytest.mark.parametrize("library", ["mine", "theirs/kyverno"])
def test_show_says_so(tmp_path: Path, library: str) -> None:
    folder = _project(tmp_path, library)
    done = CliRunner().invoke(policies, ["show", "no-lb", "--project", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"# {folder / library}/one.yaml" in done.stdout
    name = library.rpartition("/")[2]
    note = f"{name}/one goes before kyverno/other/no-lb: name that as a whole\n"
    assert done.stderr == note
    as_a_whole = ["show", "kyverno/other/no-lb", "--project", str(folder)]
    other = CliRunner().invoke(policies, as_a_whole)
    assert f"# {folder}/vendor/kyverno" in other.stdout
    assert other.stderr == ""


@pytest.mark.parametrize("name", ["no-lb", "other/no-lb", "kyverno/other/no-lb"])
def test_show_says_what_no_name_means(tmp_path: Path, name: str) -> None:
    folder = _project(tmp_path, "theirs/kyverno")
    own = folder / "theirs" / "kyverno" / "other" / "no-lb"
    own.mkdir(parents=True)
    (folder / "theirs/kyverno/one.yaml").rename(own / "no-lb.yaml")
    done = CliRunner().invoke(policies, ["show", name, "--project", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"# {own}/no-lb.yaml" in done.stdout
    hidden = f"{folder}/vendor/kyverno/other/no-lb/no-lb.yaml"
    start = f"kyverno/other/no-lb goes before the policy of the same name in {hidden}: "
    assert done.stderr == f"{start}give one of the two libraries another name\n"


@pytest.mark.parametrize("name", ["no-lb", "kyverno/other/no-lb"])
def test_render_says_what_no_name_means(tmp_path: Path, name: str) -> None:
    folder = _project(tmp_path, "theirs/kyverno")
    own = folder / "theirs" / "kyverno" / "other" / "no-lb"
    own.mkdir(parents=True)
    (folder / "theirs/kyverno/one.yaml").rename(own / "no-lb.yaml")
    (folder / "ours.yaml").write_text(_OURS.replace("no-lb", name))
    project = read_project(folder)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    (row,) = [row for row in done.rows if row.check == "own policies"]
    assert row.outcome is Outcome.NOTE
    hidden = "which goes before kyverno/other/no-lb of vendor/"
    assert row.message == f"no-lb is {own}/no-lb.yaml, {hidden}"
    assert row.hint == "give one of the two libraries another name to have that one"


def test_add_says_so(tmp_path: Path) -> None:
    folder = _project(tmp_path, "mine")
    (folder / "ours.yaml").write_text(
        _OURS.replace("    no-lb: {}\n", "    require-pod-probes: {}\n")
    )
    done = CliRunner().invoke(policies, ["add", "no-lb", "--project", str(folder)])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("mine/one goes before kyverno/other/no-lb: ")
    assert "mine/one: {}" in (folder / "ours.yaml").read_text()
