"""Programs and sources of Go modules, for tests that ask other projects' own code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.shared import ROOT

_BUILD_SECONDS = 600
_OFFLINE = ("dial tcp", "disabled by", "i/o timeout", "no such host", "not available")
"""What Go says where a module cannot be fetched."""


def build_program(name: str, folder: Path) -> Path:
    """A Go program of this folder, built; skips where it cannot be."""
    if shutil.which("go") is None:
        pytest.skip("Go is not here: the tools' own code cannot be asked")
    program = folder / name
    built = subprocess.run(
        ["go", "build", "-o", str(program), f"./{name}"],
        cwd=ROOT / "tests" / "conformance" / "programs",
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    if built.returncode and any(each in built.stderr for each in _OFFLINE):
        pytest.skip("Go modules are not here and cannot be fetched")
    assert built.returncode == 0, built.stderr
    return program


@cache
def module_texts(module: str, folder: str, ending: str) -> dict[str, str]:
    """The files below a folder of a module's source (`path@version`), by name; skips where it
    cannot be fetched. Nothing of it is built, so that only the module itself is."""
    if shutil.which("go") is None:
        pytest.skip("Go is not here: the tools' own code cannot be asked")
    done = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=Path(os.sep),
        env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    found = json.loads(done.stdout or "{}")
    # A module for a newer Go is refused, and was fetched all the same.
    if not Path(found.get("Zip") or "-").is_file():
        pytest.skip(f"{module} cannot be fetched: {found.get('Error', done.stderr)}")
    start = f"{module}/{folder}/"
    with ZipFile(found["Zip"]) as archive:
        return {
            name.removeprefix(start): archive.read(name).decode("utf-8")
            for name in archive.namelist()
            if name.startswith(start) and name.endswith(ending)
        }
