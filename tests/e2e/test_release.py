"""What a release is made of: the wheel and the source archive, built twice."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.shared import ROOT

pytestmark = pytest.mark.slow


def built(source: Path, out: Path, umask: int, **environment: str) -> dict[str, bytes]:
    """Build both in a folder; return their bytes by name."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(out)],
        cwd=source,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", **environment},
        umask=umask,
        check=True,
        capture_output=True,
    )
    return {file.name: file.read_bytes() for file in out.iterdir()}


def test_the_source_archive_is_whole_and_builds_the_same_bytes(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    if not names:
        pytest.skip("not a git checkout: nothing says which files the source archive must have")
    for name in names:
        (tmp_path / "first" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "first" / name)
    first = built(tmp_path / "first", tmp_path / "one", 0o022)
    (archive,) = (tmp_path / "one").glob("*.tar.gz")
    (tmp_path / "other" / "place").mkdir(parents=True)
    with tarfile.open(archive) as opened:
        files = {each.name.partition("/")[2]: each for each in opened if each.isfile()}
        assert set(files) - {"PKG-INFO"} == set(names)
        assert {each.mode for each in files.values()} <= {0o644, 0o755}
        assert files["README.md"].mode == 0o644
        assert files[".ci/run"].mode == 0o755
        opened.extractall(tmp_path / "other" / "place", filter="data")
    (source,) = (tmp_path / "other" / "place").iterdir()
    for file in sorted(source.rglob("*"), reverse=True):
        os.utime(file, (1, 1))
    second = built(source, tmp_path / "two", 0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="7")
    assert len(first) == 2
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_caches_are_in_no_source_archive() -> None:
    def untracked(option: str) -> set[str]:
        command = ["git", "ls-files", "--others", option]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if listed.returncode:
            pytest.skip("not a git checkout")
        return set(listed.stdout.splitlines())

    # Hatchling reads this file alone, and git those of the caches as well.
    assert untracked("--exclude-from=.gitignore") == untracked("--exclude-standard")
