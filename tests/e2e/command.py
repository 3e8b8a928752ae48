"""Runs `chartkit`, as a user does."""

import atexit
import contextlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from unittest import mock

from chartkit.cli.main import main
from tests.loopback import LONGEST

PROGRAM = Path(sys.executable).parent / "chartkit"
_FORKS: Final = Path(__file__).with_name("forks.py")
_LIMIT: Final = 2 * LONGEST


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


def chartkit(folder: Path, *arguments: str, **environment: str) -> Done:
    """Runs the command in a folder, in a process of its own; never a traceback. Not the installed
    program: `started` starts that, and so do the pages of `docs/`."""
    if not hasattr(os, "fork"):
        return started(folder, *arguments, **environment)
    with tempfile.TemporaryDirectory() as streams:
        out, err = Path(streams, "out"), Path(streams, "err")
        out.touch()
        err.touch()
        command = {
            "arguments": [str(PROGRAM), *map(str, arguments)],
            "folder": str(folder),
            "environment": {**os.environ, **environment},
            "out": str(out),
            "err": str(err),
        }
        code = _forked(json.dumps(command))
        return _done(code, out.read_text("utf-8"), err.read_text("utf-8"))


def started(folder: Path, *arguments: str, **environment: str) -> Done:
    """The same by starting the installed program."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    return _done(done.returncode, done.stdout, done.stderr)


def called(folder: Path, *arguments: str, **environment: str) -> Done:
    """The same in this process, which is quicker: for commands that keep no file by its name."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return _done(code, out.getvalue(), err.getvalue())


def _done(code: int, out: str, err: str) -> Done:
    assert "Traceback" not in err, err
    return Done(code, out, err)


@cache
def _forks() -> subprocess.Popen[bytes]:
    """The process that forks one for each command, until the tests end."""
    forks = subprocess.Popen(
        [sys.executable, _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    atexit.register(forks.communicate)
    return forks


def _forked(command: str) -> int:
    """The exit code of a command, as `forks.py` takes it; fails for one that does not end."""
    forks = _forks()
    assert forks.stdin is not None
    assert forks.stdout is not None
    forks.stdin.write(f"{command}\n".encode())
    process = int(forks.stdout.readline())
    if not select.select([forks.stdout], [], [], _LIMIT)[0]:
        os.kill(process, signal.SIGKILL)
        forks.stdout.readline()
        raise AssertionError(f"does not end: {command}")
    return int(forks.stdout.readline())


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, to see that nothing was written."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
