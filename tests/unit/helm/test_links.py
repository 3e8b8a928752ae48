"""Writers of a project's folders and links: none is written through that leads out of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.catalog.authoring.add import write_files, write_policy
from chartkit.catalog.model import Kind
from chartkit.charts.new_project import write_project
from chartkit.errors import InputError
from chartkit.network.downloads.lockfile import Lock, Origin, SourceKind, publish
from chartkit.output import atomic_folder, write
from chartkit.output.write import Tree

_LOCK = Lock(Origin(SourceKind.FOLDER, "x", "", "0" * 64), {})


def _chart(root: Path) -> None:
    write.publish(Tree(root / "charts/kyverno", {"templates/a.yaml": "a"}), root)


def _manifests(root: Path) -> None:
    write.publish(Tree(root / "rendered/dev", {"kyverno.yaml": "a"}), root)


def _library(root: Path) -> None:
    publish(root / "vendor/ours", {"a.yaml": b"a"}, _LOCK, root)


def _policy(root: Path) -> None:
    (root / "chartkit.yaml").write_text("apiVersion: chartkit.dev/v1\nkind: Project\n")
    write_policy("ours/a", Kind.VALIDATE, root, root / "policies")


def _profile(root: Path) -> None:
    write_files({root / "profiles/ours.yaml": "a: 1\n"}, root)


def _project(root: Path) -> None:
    write_project(root, {"profiles/ours.yaml": "a: 1\n", "chartkit.yaml": "a: 1\n"})


_WRITERS: list[tuple[Callable[[Path], None], str]] = [
    (_chart, "charts"),
    (_chart, "charts/kyverno"),
    (_manifests, "rendered"),
    (_manifests, "rendered/dev"),
    (_library, "vendor"),
    (_library, "vendor/ours"),
    (_policy, "policies"),
    (_policy, "policies/ours"),
    (_profile, "profiles"),
    (_project, "profiles"),
]


def _linked(tmp_path: Path, link: str, target: str) -> tuple[Path, Path]:
    """A project with a link, and the folder that it leads to."""
    root, elsewhere = tmp_path / "project", (tmp_path / "project" / target)
    root.mkdir()
    elsewhere = Path(os.path.normpath(elsewhere))
    elsewhere.mkdir(parents=True, exist_ok=True)
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(os.path.relpath(elsewhere, (root / link).parent))
    return root, elsewhere


@pytest.mark.parametrize(("writer", "link"), _WRITERS)
def test_a_link_that_leads_out_is_refused(
    tmp_path: Path, writer: Callable[[Path], None], link: str
) -> None:
    root, elsewhere = _linked(tmp_path, link, "../elsewhere")
    with pytest.raises(InputError, match="is a link that leads out of the project, to") as caught:
        writer(root)
    assert str(caught.value.location) == str(root / link)
    assert "elsewhere" in caught.value.message
    assert list(elsewhere.iterdir()) == []
    assert (root / link).is_symlink()


@pytest.mark.parametrize(("writer", "link"), _WRITERS)
def test_a_link_within_the_project_is_followed(
    tmp_path: Path, writer: Callable[[Path], None], link: str
) -> None:
    if writer is _policy and link == "policies/ours":
        pytest.skip("the folder of a new policy")
    root, elsewhere = _linked(tmp_path, link, "generated/here")
    writer(root)
    assert [each for each in elsewhere.rglob("*") if each.is_file()]
    assert (root / link).is_symlink()


@pytest.mark.parametrize("target", ["link", "../project/link", "other"])
def test_a_link_that_leads_nowhere(tmp_path: Path, target: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "link").symlink_to(target)
    (root / "other").symlink_to("link")
    with pytest.raises(InputError, match="a broken link"):
        atomic_folder.require_inside(root / "link" / "kyverno", root)


def test_a_project_behind_a_link_and_folders_named_outside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").symlink_to("real")
    (tmp_path / "way").symlink_to("outside")
    root = tmp_path / "project"
    atomic_folder.require_inside(root / "charts" / "kyverno", root)
    atomic_folder.require_inside(root / "../way/charts", root)


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_in_a_chart_for_a_folder_of_generated_files(tmp_path: Path, inside: bool) -> None:
    elsewhere = tmp_path / ("project/other" if inside else "elsewhere")
    elsewhere.mkdir(parents=True)
    chart = tmp_path / "project/charts/kyverno"
    chart.mkdir(parents=True)
    (chart / "templates").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a link") as caught:
        _chart(tmp_path / "project")
    assert str(caught.value.location) == str(chart / "templates")
    assert list(elsewhere.iterdir()) == []


def test_a_link_for_a_generated_file_is_replaced(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("kept")
    chart = tmp_path / "project/charts/kyverno/templates"
    chart.mkdir(parents=True)
    (chart / "a.yaml").symlink_to(other)
    _chart(tmp_path / "project")
    assert other.read_text() == "kept"
    assert (chart / "a.yaml").read_text() == "a"
