"""Runs `chartkit` again and again without starting Python for each: a process that has imported it
forks one for every command. A program of its own, started by `tests.e2e.command`.

Reads a command a line, as JSON; says the forked process's number, then how that one ended. Each
has arguments, folder, environment, streams and memory of its own, as one that was started has.
"""

import contextlib
import gc
import io
import json
import os
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.data import beside

_POLICY: Final = beside(__file__)["policy"]
_THREADS: Final = Path("/proc/self/task")


def _imported() -> None:
    """Imports what most commands need, by what users do most; not Helm's library, whose threads
    would be missing in a forked process."""
    from chartkit.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "policy.yaml")
        file.write_text(_POLICY, "utf-8")
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            main(["scan", "-p", str(file), str(file)])
    import_module("chartkit.render.pipeline")
    assert not _THREADS.exists() or len(list(_THREADS.iterdir())) == 1


def _become(command: Any) -> None:
    """Makes a forked process what one for this command is."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    streams = (
        (os.devnull, os.O_RDONLY),
        (command["out"], os.O_WRONLY),
        (command["err"], os.O_WRONLY),
    )
    for number, (path, flags) in enumerate(streams):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.argv = command["arguments"]


def _serve() -> bool:
    """Whether this is a forked process, which has a command to run; ends where nobody asks more."""
    while line := sys.stdin.buffer.readline():
        process = os.fork()
        if process == 0:
            _become(json.loads(line))
            return True
        os.write(1, f"{process}\n".encode())
        _, status = os.waitpid(process, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return False


if __name__ == "__main__":
    # As an installed program has it: nothing of the tests is found.
    sys.path.pop(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _imported()
    gc.collect()
    gc.freeze()
    if _serve():
        from chartkit.cli.main import main

        main()
