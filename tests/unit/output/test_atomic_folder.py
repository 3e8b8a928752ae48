from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.output import atomic_folder


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
