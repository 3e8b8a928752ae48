from __future__ import annotations

import os
from pathlib import Path

import pytest

from chartkit.addons.mcp.tools import tools
from chartkit.addons.mcp.worker import placed
from chartkit.errors import InputError
from tests.errors import error_of

POD = "apiVersion: v1\nkind: Pod\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.yaml").write_text(POD)
    (tmp_path / "texts").mkdir()
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "pod.yaml").write_text(POD)
    (root / "inner" / "link.yaml").symlink_to(tmp_path / "outside" / "secret.yaml")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "own").symlink_to("inner/../pod.yaml")
    return root


def paths(root: Path, *given: str, roots: list[str] | None = None) -> list[str]:
    tool = tools()["scan"]
    found = [str(root)] if roots is None else roots
    return placed(tool, {"objects": list(given)}, found, root.parent / "texts")["objects"]


@pytest.mark.parametrize(
    "given", ["pod.yaml", ".", "inner", "own", "not-there", "inner/../pod.yaml"]
)
def test_paths_below_a_root_stay_as_they_are(root: Path, given: str) -> None:
    assert paths(root, given) == [given]
    assert paths(root, str(root / given)) == [str(root / given)]


@pytest.mark.parametrize(
    "given",
    [
        *("..", "../outside/secret.yaml", "/etc/passwd", "/", "inner/link.yaml", "folder"),
        *("folder/secret.yaml", "inner/../../outside", "../root2"),
    ],
)
def test_paths_outside_are_refused(root: Path, given: str) -> None:
    error = error_of(InputError, paths, root, given)
    assert str(error) == f"{given}: is outside of the roots (the roots are {root})"


@pytest.mark.parametrize(
    "given", ["https://example.com/a.yaml", "git@example.com:a/b", "s3://a/b", "-", "file:///etc"]
)
def test_nothing_but_files_is_read(root: Path, given: str) -> None:
    with pytest.raises(InputError, match="reads nothing but files"):
        paths(root, given)


def test_a_path_that_cannot_be_one_is_refused_in_one_line(root: Path) -> None:
    with pytest.raises(InputError, match=r"a\\u0000b: is not a path"):
        paths(root, "a\0b")
    error = error_of(InputError, paths, root, "/\x1b[31m" + "x" * 10_000)
    assert len(str(error)) < 600
    assert "\x1b" not in str(error)


def test_the_first_root_that_has_a_path_is_meant(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    (other / "more.yaml").write_text(POD)
    roots = [str(root), str(other)]
    given = ("pod.yaml", "more.yaml", "none.yaml")
    assert paths(root, *given, roots=roots) == ["pod.yaml", str(other / "more.yaml"), "none.yaml"]


def test_texts_become_files_with_the_parameters_name(root: Path) -> None:
    found = paths(root, "pod.yaml", POD, ' {"kind": "Pod"}')
    texts = root.parent / "texts"
    assert found == ["pod.yaml", f"{texts}{os.sep}objects-2.yaml", f"{texts}{os.sep}objects-3.yaml"]
    assert Path(found[1]).read_text() == POD


def test_without_roots_texts_and_profiles_are_left(root: Path) -> None:
    with pytest.raises(InputError, match="there is no root to read it from"):
        paths(root, "pod.yaml", roots=[])
    assert len(paths(root, POD, roots=[])) == 1
    tool = tools()["scan"]
    values = {"policies": ["pss-baseline"], "select": ["/etc/passwd"]}
    assert placed(tool, values, [], root.parent) == values
