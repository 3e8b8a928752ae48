"""Files that appear whole or not at all, whenever their writer is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chartkit.atomic import clear, replacing
from tests.data import tables

_KILLED = """
import os, signal, sys
from pathlib import Path
from chartkit import atomic

at, path = sys.argv[1], Path(sys.argv[2])

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

{fault}
with atomic.replacing(path) as file:
    file.write(b"new" * 100_000)
    if at == "filled":
        die()
if at == "done":
    die()
"""
_FAULTS = {"created": "atomic.lock = die", "filled": "", "replaced": "os.replace = die", "done": ""}


def _killed_at(at: str, path: Path) -> None:
    code = _KILLED.format(fault=_FAULTS[at])
    done = subprocess.run([sys.executable, "-c", code, at, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("at", _FAULTS)
@pytest.mark.parametrize("there", [True, False])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, at: str, there: bool
) -> None:
    path = tmp_path / "v.yaml"
    if there:
        path.write_bytes(b"old")
    _killed_at(at, path)
    expected = b"new" * 100_000 if at == "done" else b"old" if there else None
    assert (path.read_bytes() if path.exists() else None) == expected
    assert len([each for each in tmp_path.iterdir() if each != path]) == (at != "done")
    _write(path, b"newer")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"v.yaml": b"newer"}


def test_nothing_else_is_cleared(tmp_path: Path) -> None:
    names = tables(__file__)["names"]
    for name in names:
        (tmp_path / name).write_text(name)
    outside = tmp_path / "kept"
    outside.write_text("kept")
    (tmp_path / ".v.yaml.chartkit-00000000").symlink_to(outside)
    (tmp_path / ".v.yaml.chartkit-11111111").mkdir()
    os.mkfifo(tmp_path / ".v.yaml.chartkit-22222222")
    before = sorted(tmp_path.iterdir())
    clear(tmp_path / "v.yaml")
    assert sorted(tmp_path.iterdir()) == before


def test_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "v.yaml"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_cleared_before_it_was_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chartkit import atomic

    path, take, cleared = tmp_path / "v.yaml", atomic._take, list[str]()

    def late(handle: int) -> None:
        if not cleared:
            cleared.extend(each.name for each in tmp_path.iterdir())
            for name in cleared:
                (tmp_path / name).unlink()
        take(handle)

    monkeypatch.setattr(atomic, "_take", late)
    _write(path, b"new")
    assert cleared
    assert path.read_bytes() == b"new"


def test_an_error_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "v.yaml"
    path.write_bytes(b"old")

    def fails() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"v.yaml": b"old"}


def test_modes_and_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 120)
    _write(path, b"a")
    path.chmod(0o640)
    _write(path, b"b")
    assert path.stat().st_mode & 0o777 == 0o640
    private = tmp_path / "private"
    with replacing(private, 0o600) as file:
        file.write(b"a")
    assert private.stat().st_mode & 0o777 == 0o600
