"""Files below a folder by names of inputs, and folders that are replaced as a whole."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chartkit.addons.operate.adopt.run import Adoption, write
from chartkit.addons.operate.adopt.trial import try_out
from chartkit.catalog import pages as pages
from chartkit.errors import InputError
from chartkit.helm.render import render_chart
from chartkit.model import untracked
from chartkit.network.downloads import lockfile
from chartkit.network.downloads.lockfile import Lock, Origin, SourceKind
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import path_below, write_below
from chartkit.output.write import GeneratedChart, Tree, lay_out, publish
from tests.data import from_table

_ORIGIN = Origin(SourceKind.FOLDER, "own", "", "0" * 64)
Writer = Callable[[Path, Mapping[str, str]], object]


def _vendored(folder: Path, files: Mapping[str, str]) -> None:
    content = {name: text.encode() for name, text in files.items()}
    lock = Lock(_ORIGIN, dict.fromkeys(files, "0" * 64))
    lockfile.publish(folder / "lib", content, lock, folder)


def _adopted(files: Mapping[str, str]) -> Any:
    return SimpleNamespace(files=lambda _: files, set_baselines=lambda _: None)


_WRITERS: dict[str, Writer] = {
    "files": write_below,
    "an adopted project": lambda folder, files: write(Adoption(folder, dict(files), ())),
    "a trial of an adopted project": lambda folder, files: try_out(
        _adopted(files), (), folder, lambda _: untracked
    ),
    "pages of policies": lambda folder, files: pages.publish(files, folder / "pages"),
    "a vendored library": _vendored,
    "a chart for Helm": lambda _folder, files: render_chart(
        GeneratedChart("a", files, {}), [], namespace="a"
    ),
    "a generated chart": lambda folder, files: publish(Tree(folder / "chart", files)),
    "a chart that is laid out": lambda folder, files: lay_out(Tree(Path("a"), files), folder),
}


@pytest.mark.parametrize("writer", _WRITERS)
@from_table("name")
def test_a_name_that_leads_out_of_its_folder(tmp_path: Path, name: str, writer: str) -> None:
    folder = tmp_path / "deep" / "folder"
    folder.mkdir(parents=True)
    with pytest.raises(InputError, match="leads out of its folder"):
        _WRITERS[writer](folder, {name: "x"})
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []
    assert not Path("/tmp/outside-of-chartkit").exists()


def test_files_below_a_folder(tmp_path: Path) -> None:
    write_below(tmp_path, {"a/b..c": "ü\n", "./d": b"\xff"})
    assert (tmp_path / "a" / "b..c").read_bytes() == "ü\n".encode()
    assert path_below(tmp_path, "d").read_bytes() == b"\xff"


def folder(path: Path, text: str) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_text(text)
    return path


@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "set aside"])
def test_a_folder_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic_folder, "_exchange", lambda _one, _other: False)
    target = folder(tmp_path / "charts" / "kyverno", "old")
    new = atomic_folder.new_folder(target)
    (new / "file").write_text("new")
    atomic_folder.replace_folder(new, target)
    assert (target / "file").read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_that_was_not_there(tmp_path: Path) -> None:
    target = tmp_path / "charts" / "kyverno"
    new = atomic_folder.new_folder(target)
    (new / "file").write_text("new")
    atomic_folder.replace_folder(new, target)
    assert (target / "file").read_text() == "new"


def test_repair_clears_what_a_killed_run_left(tmp_path: Path) -> None:
    target = folder(tmp_path / "kyverno", "old")
    atomic_folder.new_folder(target)
    atomic_folder.repair(target)
    assert list(tmp_path.iterdir()) == [target]


def test_repair_brings_back_what_was_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where folders cannot be exchanged, a kill between the two renames leaves none in place."""

    def killed(_self: Path, _target: Path) -> Path:
        raise KeyboardInterrupt

    target = folder(tmp_path / "kyverno", "old")
    new = atomic_folder.new_folder(target)
    monkeypatch.setattr(atomic_folder, "_exchange", lambda _one, _other: False)
    rename = Path.rename
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda s, t: rename(s, t) if s == target else killed(s, t))
        with pytest.raises(KeyboardInterrupt):
            atomic_folder.replace_folder(new, target)
    assert not target.exists()
    atomic_folder.repair(target)
    assert (target / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_two_cannot_hold_one_folder(tmp_path: Path) -> None:
    running = "another render of this project is running"
    with (
        atomic_folder.lock(tmp_path),
        pytest.raises(InputError, match=running),
        atomic_folder.lock(tmp_path),
    ):
        pass
    with atomic_folder.lock(tmp_path):
        pass
