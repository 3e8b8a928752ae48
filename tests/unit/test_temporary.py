"""Temporary folders: removed at the end, and those of killed processes by the next one."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit import temporary
from chartkit.temporary import TemporaryFolder, temporary_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no locks there")
_HOLD = """
from chartkit.temporary import TemporaryFolder
held = TemporaryFolder()
(held.path / "a").mkdir()
(held.path / "a" / "b").write_text("x")
print(held.path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    temporary._clear.cache_clear()
    yield tmp_path
    temporary._clear.cache_clear()


@pytest.fixture
def holder(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(place)},
    )
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()


def test_it_is_removed_with_what_is_in_it(place: Path) -> None:
    with temporary_folder() as folder:
        (folder / "a").mkdir()
        assert folder.parent == place
    assert not list(place.iterdir())


def test_a_folder_of_a_killed_process_is_cleared(
    place: Path, holder: tuple[subprocess.Popen[str], Path]
) -> None:
    process, left = holder
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (left / "a" / "b").exists()
    with temporary_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_a_folder_in_use_stays(holder: tuple[subprocess.Popen[str], Path]) -> None:
    _, theirs = holder
    with temporary_folder():
        assert (theirs / "a" / "b").exists()


@pytest.mark.parametrize(
    "name", ["chartkit-mine1234", "chartkit-run-mine", "chartkit-run-mine12345"]
)
def test_folders_of_other_names_stay(place: Path, name: str) -> None:
    (place / name).mkdir()
    with temporary_folder():
        assert (place / name).is_dir()


def test_files_and_links_of_such_a_name_stay(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "chartkit-run-abcdefgh").symlink_to(place / "mine")
    (place / "chartkit-run-12345678").write_text("x")
    with temporary_folder():
        assert (place / "chartkit-run-abcdefgh").is_symlink()
        assert (place / "chartkit-run-12345678").is_file()
        assert (place / "mine").is_dir()


def test_a_folder_that_another_process_clears_before_its_lock_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = temporary._locked, []

    def locked(folder: str) -> int | None:
        made.append(folder)
        if len(made) == 1:
            Path(folder).rmdir()
        return real(folder)

    monkeypatch.setattr(temporary, "_locked", locked)
    found = TemporaryFolder()
    assert len(made) == 2
    assert found.path.is_dir()
    found.close()
    assert not list(place.iterdir())
