"""Helm's library in a child process: answers one call after the other until its input ends.

Standard input: a line of JSON with the worker's settings, then one for each call. Standard output:
for each call a frame, as `frame` packs it. The answers are JSON as the library gives it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from chartkit.helm.sandbox.confine import Exit, confine

HEADER: Final = struct.Struct("=cQ")
"""The kind of a frame and the number of bytes that follow."""
ANSWER: Final = b"A"
ERROR: Final = b"E"
TOO_LARGE: Final = b"O"

_LOOK_SECONDS: Final = 0.05
_STDERR: Final = 2
_STATM: Final = "/proc/self/statm"
"""A process's memory in pages; the second number is what is resident."""

_Library = Any
_Call = dict[str, Any]


class _Watch:
    """A thread that ends this process where a call exceeds a limit, or its caller is gone."""

    def __init__(self, memory: int, resident: Callable[[], int]) -> None:
        self._memory = memory
        self._resident = resident
        self._parent = os.getppid()
        self._working = threading.Event()
        self._deadline = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def begin(self, cpu_seconds: float) -> None:
        """Counts the processor's time from here."""
        self._deadline = time.process_time() + cpu_seconds
        self._working.set()

    def end(self) -> None:
        """Stops counting."""
        self._working.clear()

    def _look(self) -> None:
        while self._working.wait():
            if os.getppid() != self._parent:
                os._exit(1)
            if time.process_time() > self._deadline:
                os._exit(Exit.CPU)
            if self._resident() > self._memory:
                os._exit(Exit.MEMORY)
            time.sleep(_LOOK_SECONDS)


def _resident() -> Callable[[], int]:
    """Return a function that gives the bytes of memory which this process has, 0 where unknown.
    Linux: what is resident now, and not the largest it ever was, which a process inherits from the
    one that started it. To be called before files are out of reach."""
    if sys.platform == "win32":
        return lambda: 0
    import resource

    if sys.platform == "darwin":
        return lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        statm = os.open(_STATM, os.O_RDONLY)
    except OSError:
        return lambda: 0
    page = resource.getpagesize()
    return lambda: int(os.pread(statm, 128, 0).split()[1]) * page


def main() -> None:
    """Serves calls until standard input ends."""
    calls = sys.stdin.buffer
    # Standard output is for frames alone: whatever else is printed goes to standard error.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(_STDERR, 1)
    settings = json.loads(calls.readline())
    resident = _resident()
    confine(settings["memory"], settings["output"], settings["readable"])
    # Where the module cannot be loaded, this process ends with the reason.
    sys.path.append(settings["library"])
    import helm_python

    watch = _Watch(settings["memory"], resident)
    while line := calls.readline():
        call = json.loads(line)
        watch.begin(call["cpu_seconds"])
        try:
            kind, text = ANSWER, _CALLS[call["do"]](helm_python, call)
        except helm_python.HelmError as error:
            kind, text = ERROR, str(error)
        content = text.encode("utf-8", "surrogatepass")
        if len(content) > call["output"]:
            kind, content = TOO_LARGE, b""
        answers.write(HEADER.pack(kind, len(content)) + content)
        answers.flush()
        watch.end()


def _render(library: _Library, call: _Call) -> str:
    # Chart.render leaves out kube_version and api_versions; its C call takes them.
    with library.Chart.load(call["chart"]) as loaded:
        return _text(library, "helm_render", loaded._raw(), call["values"], call["options"])


def _dry_run(library: _Library, call: _Call) -> str:
    native, options = library._native, json.loads(call["options"])
    with (
        library.Chart.load(call["chart"]) as loaded,
        library.Config(
            kubeconfig_path=os.devnull, namespace=options["namespace"], storage_driver="memory"
        ) as config,
    ):
        handles = (config._raw(), native.HANDLE(0), loaded._raw())
        given = (None, call["release"], call["values"], call["options"])
        return _text(library, "helm_install", *handles, *given)


def _lint(library: _Library, call: _Call) -> str:
    return _text(library, "helm_lint_run_opts", call["chart"], call["values"], call["options"])


def _text(library: _Library, function: str, *arguments: Any) -> str:
    text: str = library._native.call_string(function, *arguments)
    return text


_CALLS: Final[dict[str, Callable[[_Library, _Call], str]]] = {
    "render": _render,
    "dry_run": _dry_run,
    "lint": _lint,
}
