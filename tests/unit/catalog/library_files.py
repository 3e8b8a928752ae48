"""Writes small libraries for tests: policies as Kyverno reads them, with Kyverno's own tests."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from chartkit.network.downloads.lockfile import (
    LOCK_FILE,
    Lock,
    Origin,
    SourceKind,
    digest,
    digest_of_all,
    lock_text,
)
from tests.data import beside
from tests.files import write_files

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
CEL_POLICY = _TEXTS["cel-policy"]
TEST = _TEXTS["test"]
PODS = _TEXTS["pods"]


def write_plain(root: Path, reference: str, text: str = "", **given: str) -> Path:
    """One policy with a test; gives its file."""
    folder = root / reference
    name = given.get("name", folder.name)
    about = {"title": name.title(), "category": "Tests", **given, "name": name}
    file = folder / f"{folder.name}.yaml"
    tests = folder / ".kyverno-test"
    tests.mkdir(parents=True)
    file.write_text((text or POLICY).format(**about))
    (tests / "kyverno-test.yaml").write_text(TEST.format(name=name, file=file.name))
    (tests / "resource.yaml").write_text(PODS)
    return file


def write_lock(root: Path) -> None:
    """Locks a folder as it stands."""
    files = {
        path.relative_to(root).as_posix(): digest(path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }
    origin = Origin(SourceKind.FOLDER, "elsewhere", "", digest_of_all(files))
    (root / LOCK_FILE).write_text(lock_text(Lock(origin, files)))


def git(folder: Path, *arguments: str) -> str:
    """What git says."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.test", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write_checkout(folder: Path, files: Mapping[str, bytes]) -> str:
    """A git checkout with one commit; gives the commit."""
    write_files(folder, files)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    return git(folder, "rev-parse", "HEAD")
