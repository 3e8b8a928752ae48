"""The built page, which is made once for all tests of a state of the sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools import playground

_ROOT = Path(__file__).parents[3]


@contextmanager
def _building() -> Iterator[Path]:
    """Yield the folder of what is built, which one process has at a time; skip a test where
    something is missing."""
    fcntl = pytest.importorskip("fcntl", reason="no locks here")
    folder = _ROOT / "build" / "playground"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        except playground.MissingError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def playground_page() -> Path:
    """Return the folder of the page; build it unless one of these sources is there."""
    with _building() as folder:
        page, stamp = folder / "tested", folder / "tested.txt"
        state = _state()
        if not stamp.is_file() or stamp.read_text() != state:
            playground.build(page)
            stamp.write_text(state)
    return page


@pytest.fixture(scope="session")
def page_module() -> Path:
    """Return the module with the regular expressions of the page."""
    with _building():
        playground.install()
        return playground.bundle("re2.ts", ".mjs")


def _state() -> str:
    digest = hashlib.sha256()
    for folder in ("chartkit", "docs/playground", "profiles", "tools"):
        files = (each for each in (_ROOT / folder).rglob("*") if each.suffix not in ("", ".pyc"))
        for file in sorted(files):
            digest.update(f"{file} ".encode() + (file.read_bytes() if file.is_file() else b""))
    return digest.hexdigest()
