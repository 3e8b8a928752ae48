"""Starts child processes with limits, asks them, and reports how they ended."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from chartkit.errors import ChartkitError
from chartkit.helm.sandbox.confine import Exit, packed
from chartkit.helm.sandbox.helm_worker import ANSWER, HEADER, TOO_LARGE

_ROOT: Final = Path(__file__).parents[3]
_KILLED: Final = -9
_CRASHED: Final = 2
"""The exit code of Go's runtime, after it has printed its threads (goroutines)."""
_FAREWELL: Final = 65536
"""As much of a child's standard error is read."""
_MEMORY: Final = re.compile(
    r"out of memory|cannot allocate memory|(malloc|pthread_create) failed|failed to create"
)
_STACK: Final = re.compile(r"stack overflow|goroutine stack exceeds")
_GARBAGE: Final = "400"
"""The growth of Go's heap, in per cent, between two collections: half of the time of a render is
theirs at Go's 100."""
_SYSTEM: Final = (
    *(os.path.realpath(path) for path in ("/usr", "/lib", "/lib64", "/bin", "/nix/store")),
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/alternatives",
    "/dev/null",
    "/dev/urandom",
    "/sys/kernel/mm/transparent_hugepage",
)
"""Files that a program needs to start, and the time zones; none of any user."""


_NEEDED: Final = frozenset({"PATH", "SYSTEMROOT", "LD_LIBRARY_PATH"})
"""Variables without which a program may not start."""
_MIB: Final = 1024 * 1024
_GIB: Final = 1024 * _MIB


class StoppedError(ChartkitError):
    """A child process reached one of its limits, or crashed."""


class RefusedError(ChartkitError):
    """A child process did its work, and its answer is an error; the message is its own."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The files of a child: readable ones besides those of the system, and a folder for its own
    temporary files. None for readable: everything that the user may read."""

    readable: tuple[str, ...] | None
    temporary: str

    def allowed(self) -> list[str] | None:
        """Everything that the child may read."""
        return None if self.readable is None else [*_SYSTEM, *self.readable]


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """A worker's answer to a call, and its standard error meanwhile, up to a limit."""

    text: str
    log: str


class Worker:
    """Helm's library in a process of its own, warm for the next call; one call at a time."""

    def __init__(self, library: str, access: FileAccess, limits: Limits) -> None:
        """library: the folder with the module `helm_python`."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        code = "from chartkit.helm.sandbox.helm_worker import main; main()"
        self._process = _started(
            python_command(code), access, subprocess.PIPE, self._errors, _garbage_collection(limits)
        )
        self._answered = False
        python = [*{sys.prefix, sys.base_prefix, sys.exec_prefix}, library]
        settings = {
            "library": library,
            "memory": limits.memory,
            "output": limits.output,
            "readable": [*(access.allowed() or ["/"]), *python],
        }
        self._send(settings)

    def ask(self, call: Mapping[str, Any], limits: Limits) -> WorkerReply:
        """The library's answer. Raises RefusedError with its message, and StoppedError without an
        answer: then the worker is dead."""
        bounds = {"cpu_seconds": limits.cpu_seconds, "output": limits.output}
        if self._answered:
            # The worker, which waits for a call, writes its log on from the same place.
            self._errors.seek(0)
            self._errors.truncate()
        with _killed_after(self._process, limits.seconds) as late:
            self._send({**call, **bounds})
            stdout = self._process.stdout
            assert stdout is not None
            header = stdout.read(HEADER.size)
            if len(header) < HEADER.size:
                frame: tuple[bytes, bytes] | None = None
            else:
                kind, length = HEADER.unpack(header)
                content = stdout.read(length)
                frame = (kind, content) if len(content) == length else None
        if frame is None:
            raise StoppedError(self._epitaph(limits, bool(late)))
        kind, content = frame
        self._answered = True
        if kind == TOO_LARGE:
            raise StoppedError(_too_large(limits))
        text = content.decode("utf-8", "surrogatepass")
        if kind != ANSWER:
            raise RefusedError(text)
        return WorkerReply(text, self.log())

    @property
    def alive(self) -> bool:
        """True if it takes calls."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the process now; a call that waits for it gets no answer."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and forgets it."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            # Something may be left to write, and nobody is there to read it.
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    def log(self) -> str:
        """The start of what the library has written to standard error in this call."""
        return _text(self._errors)

    def _send(self, message: Mapping[str, Any]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
        except OSError:
            # It is dead: reading its answer says so, too.
            return

    def _epitaph(self, limits: Limits, late: bool) -> str:
        code = self._process.wait()
        text = self.log()
        if not self._answered and code == 1 and not late:
            lines = text.strip().splitlines() or ["it says nothing"]
            return f"the library cannot be loaded: {lines[-1]}"
        return _reason(code, text, limits, late)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The end of a program."""

    code: int
    out: str
    err: str


class Programs:
    """Programs that are started for one call each, within limits."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def run(
        self,
        program: str,
        arguments: Sequence[str],
        access: FileAccess,
        limits: Limits,
        environment: Mapping[str, str],
        inherits: bool = True,
    ) -> ProgramResult:
        """Runs a program to its end; inherits: whether it gets the user's environment, too. Raises
        StoppedError where a limit stops it, and OSError where it cannot be started."""
        settings = {
            "parent": os.getpid(),
            "memory": limits.memory,
            "output": limits.output + 1,
            "cpu_seconds": limits.cpu_seconds,
            "readable": access.allowed(),
            "writable": [access.temporary],
        }
        code = "from chartkit.helm.sandbox.confine import main; main(*sys.argv[1:3], sys.argv[3:])"
        command = [*python_command(code), packed(settings), program, *arguments]
        if sys.platform == "win32":
            # Nothing to confine with, and no way to become another program.
            command = [program, *arguments]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given = {**_garbage_collection(limits), **environment}
            process = _started(command, access, out, err, given, inherits)
            self._running.add(process)
            if self._closed:
                process.kill()
            try:
                with _killed_after(process, limits.seconds) as late:
                    # Wait for a process, and return the processor time that it took, 0 if unknown
                    if sys.platform == "win32":
                        process.wait()
                        cpu_seconds = 0
                    else:
                        _, status, usage = os.wait4(process.pid, 0)
                        process.returncode = os.waitstatus_to_exitcode(status)
                        cpu_seconds = usage.ru_utime + usage.ru_stime
            finally:
                process.kill()
                process.wait()
                self._running.discard(process)
            done = ProgramResult(process.returncode, _text(out, limits.output + 1), _text(err))
        if len(done.out) > limits.output:
            raise StoppedError(_too_large(limits))
        _check_end(done, limits, bool(late), cpu_seconds)
        return done

    def close(self) -> None:
        """Kills what runs, and what is started after that."""
        self._closed = True
        for process in list(self._running):
            process.kill()


def _check_end(done: ProgramResult, limits: Limits, late: bool, cpu_seconds: float) -> None:
    if done.code == Exit.NOT_STARTED:
        raise OSError(0, done.err)
    crashed = done.code == _CRASHED and "goroutine " in done.err
    if done.code < 0 or crashed or late:
        # The system kills at the end of a second, as it counts them itself.
        spent = done.code == _KILLED and cpu_seconds > limits.cpu_seconds - 0.5
        code = Exit.CPU if spent else done.code
        raise StoppedError(_reason(code, done.err, limits, late))


def python_command(code: str) -> list[str]:
    """Return a command that runs code with chartkit to import, and no site packages."""
    path = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); "
    return [sys.executable, "-I", "-S", "-c", path + code]


def _garbage_collection(limits: Limits) -> dict[str, str]:
    """Return the settings of Go's collector, which becomes strict at half of the memory."""
    return {"GOGC": _GARBAGE, "GOMEMLIMIT": str(limits.memory // 2)}


def _started(
    command: Sequence[str],
    access: FileAccess,
    out: Any,
    err: IO[bytes],
    environment: Mapping[str, str] | None = None,
    inherits: bool = True,
) -> subprocess.Popen[bytes]:
    """A process apart from the terminal: Ctrl-C reaches the parent alone, which ends it."""
    own = {
        name: value
        for name, value in os.environ.items()
        if (not name.startswith("HELM_") if inherits else name in _NEEDED)
    }
    own |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), access.temporary)
    own |= {"KUBECONFIG": os.devnull, **(environment or {})}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE if out == subprocess.PIPE else subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=own,
        start_new_session=True,
    )


@contextmanager
def _killed_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[list[bool]]:
    """Kills a process that takes too long; the list is filled where it did."""
    late: list[bool] = []

    def kill() -> None:
        late.append(True)
        process.kill()

    timer = threading.Timer(seconds, kill)
    timer.daemon = True
    timer.start()
    waited = False
    try:
        yield late
        waited = True
    finally:
        timer.cancel()
        if not waited:
            process.kill()


def _reason(code: int, text: str, limits: Limits, late: bool) -> str:
    """One line on how a child ended that gave no answer; text: its standard error."""
    if late:
        return f"it gives no answer within {limits.seconds:g} s"
    if _STACK.search(text):
        return "it calls itself without end"
    if code == Exit.MEMORY or _MEMORY.search(text):
        return f"it needs more than {size(limits.memory)} of memory"
    if code == Exit.CPU:
        return f"it takes more than {limits.cpu_seconds} s of processor time"
    if code < 0:
        return f"it was killed (signal {-code})"
    return f"it crashed (exit code {code})"


def _too_large(limits: Limits) -> str:
    return f"it gives more than {size(limits.output)} of output"


def _text(stream: IO[bytes], limit: int = _FAREWELL) -> str:
    stream.seek(0)
    return stream.read(limit).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call. seconds: by the clock; cpu_seconds: of processor time, all threads
    together; memory: bytes of private memory; output: bytes of the answer."""

    seconds: float = 120
    cpu_seconds: int = 30
    memory: int = 2 * _GIB
    output: int = 32 * _MIB

    def at_most(self, other: Limits) -> Limits:
        """The smaller one of each limit."""
        return Limits(
            min(self.seconds, other.seconds),
            min(self.cpu_seconds, other.cpu_seconds),
            min(self.memory, other.memory),
            min(self.output, other.output),
        )


DEFAULT: Final = Limits()


def size(number: int) -> str:
    """A number of bytes as people write it: `2 GiB`, `300 MiB`, `17 bytes`."""
    for unit, factor in (("GiB", _GIB), ("MiB", _MIB)):
        if number >= factor and number % factor == 0:
            return f"{number // factor} {unit}"
    return f"{number:,} bytes"
