"""A render that is killed at any step: what `--check` sees, and what the next render repairs."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chartkit.output import atomic_folder, write
from chartkit.output.write import Tree
from chartkit.render import pipeline

_FOLDERS = ("charts/kyverno", "charts/kyverno-policies", "rendered/dev")
_PARENTS = ("charts", "rendered")
_NOTES = "notes.txt"
"""A file of the user's in each folder."""
_MANY = 1_000


def _trees(root: Path, text: str) -> list[Tree]:
    files = {"values.yaml": text, "templates/a.yaml": text}
    return [Tree(root / name, files) for name in _FOLDERS]


def _steps(monkeypatch: pytest.MonkeyPatch, step: Callable[[], None]) -> None:
    """Has a function called before and after everything that changes folders."""

    def watched(place: Any, name: str) -> None:
        real = getattr(place, name)

        def call(*given: Any, **named: Any) -> Any:
            step()
            found = real(*given, **named)
            step()
            return found

        monkeypatch.setattr(place, name, call)

    for place, name in (
        (atomic_folder, "new_folder"),
        (write, "_fill"),
        (atomic_folder, "_exchange"),
        (Path, "rename"),
        (shutil, "rmtree"),
        (Path, "write_text"),
    ):
        watched(place, name)


def _render(root: Path, text: str) -> None:
    for parent in _PARENTS:
        atomic_folder.repair_all(root / parent)
    pipeline._publish(_trees(root, text), root)


def _killed(monkeypatch: pytest.MonkeyPatch, at: int, root: Path) -> bool:
    """Renders in a process that is killed at a step; false where it had no such step."""
    child = os.fork()
    if child == 0:
        count = 0

        def step() -> None:
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            _steps(monkeypatch, step)
            _render(root, "new")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _texts(root: Path) -> Iterator[str]:
    for name in _FOLDERS:
        yield from (file.read_text() for file in sorted((root / name).rglob("*.yaml")))


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "set aside"])
@pytest.mark.parametrize("there", [True, False], ids=["again", "first"])
def test_killed_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool, there: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic_folder, "_exchange", lambda _one, _other: False)
    for at in range(1, _MANY):
        root = tmp_path / str(at)
        root.mkdir()
        if there:
            _render(root, "old")
            for name in _FOLDERS:
                (root / name / _NOTES).write_text(name)
        if not _killed(monkeypatch, at, root):
            break
        is_new = list(_texts(root)) == ["new"] * 2 * len(_FOLDERS)
        drift = "".join(map(write.drift, _trees(root, "new")))
        assert bool(drift) != is_new, at
        for name in _FOLDERS:
            there_now = {file.read_text() for file in (root / name).rglob("*.yaml")}
            assert len(there_now) < 2, at
        _render(root, "new")
        assert list(_texts(root)) == ["new"] * 2 * len(_FOLDERS), at
        assert not list(root.rglob(".*")), at
        if there:
            assert [(root / name / _NOTES).read_text() for name in _FOLDERS] == [*_FOLDERS], at
    assert 20 < at < _MANY


def test_what_an_interrupted_render_left_is_drift_and_goes(tmp_path: Path) -> None:
    charts = tmp_path / "charts"
    (charts / "kyverno").mkdir(parents=True)
    left = atomic_folder.new_folder(charts / "kyverno")
    (row,) = pipeline._left([charts, tmp_path / "rendered"], tmp_path)
    assert (str(row.location), row.outcome) == (str(left), "fail")
    assert (row.message, row.hint) == ("was left by a render that was interrupted", "render again")
    with atomic_folder.lock(tmp_path):
        assert list(pipeline._left([charts], tmp_path)) == []
    atomic_folder.repair_all(charts)
    assert [each.name for each in charts.iterdir()] == ["kyverno"]


@pytest.mark.parametrize(
    "name", [".kyverno.chartkit-new-notes", ".chartkit-old", ".kyverno.old", "kyverno.chartkit-old"]
)
def test_folders_of_others_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    atomic_folder.repair_all(tmp_path)
    atomic_folder.repair(tmp_path / "kyverno")
    assert (tmp_path / name).is_dir()
