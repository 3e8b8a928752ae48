"""Starts the installed `chartkit`, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "chartkit"


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line on standard error; fails where there is another number of lines."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


def chartkit(folder: Path, *arguments: str, timeout: float = 600, **environment: str) -> Done:
    """Runs the command in a folder; never a traceback."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, to see that nothing was written."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
