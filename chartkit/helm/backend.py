"""Picks the Helm to use, the library or the `helm` program, and asks it with the rights of its user
for releases and registries."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from chartkit.errors import ChartkitError, HelmMissingError, extra
from chartkit.helm.program import error_text
from chartkit.helm.sandbox.process import DEFAULT, Limits, python_command
from chartkit.safe_text import shown

if TYPE_CHECKING:
    from chartkit.helm.gateway import Gateway


VARIABLE: Final = "CHARTKIT_HELM"
"""Names the Helm to use: `library`, `program`, or the path of a program."""
LIBRARY: Final = "library"
PROGRAM: Final = "program"


_starting: Final = threading.RLock()
"""Held while Helm is started or ended: of two that threads start at once, one would never end."""
_ENDING_SECONDS: Final = 10
"""Seconds that a call may take to end after Ctrl-C."""
_CODE: Final = "from chartkit.helm.library import main; main(*sys.argv[1:])"
_WARNING: Final = re.compile(r'^I\d{4} .* warnings\.go:\d+\] "?(?:Warning: )?(.*?)"?$', re.M)
"""A warning of the API server, which Go's client logs for each object."""


def helm() -> Gateway:
    """The Helm that the user chose, started when it is first asked, by any thread."""
    with _starting:
        return _helm()


@cache
def _helm() -> Gateway:
    atexit.register(close)
    return connect(DEFAULT)


def connect(limits: Limits) -> Gateway:
    """The Helm that the user chose, within these limits; raises HelmMissingError."""
    # Most commands import this and render no chart.
    from chartkit.helm.gateway import Gateway
    from chartkit.helm.library import HelmLibrary
    from chartkit.helm.program import HelmProgram

    program = chosen_program()
    if program is not None:
        return Gateway(lambda access: HelmProgram(program, access, limits))
    return Gateway(lambda access: HelmLibrary(str(library_folder()), access, limits))


def start() -> None:
    """Has Helm start in parallel, for someone who will ask it soon."""
    helm().start()


@contextmanager
def kept() -> Iterator[None]:
    """Take what earlier runs made of the same charts while this lasts, and keep what this one
    makes; nothing where the Helm in use is unknown."""
    name = identity()
    if name is None:
        yield
        return
    with helm().kept(name):
        yield


def stop() -> None:
    """Ends Helm's child processes: calls that wait for one fail, and so do others until `close`."""
    if _helm.cache_info().currsize:
        _helm().stop()


def close() -> None:
    """End Helm and remove its copies of charts, once no call waits for it. The next call starts it
    anew."""
    with _starting:
        if _helm.cache_info().currsize:
            _helm().close()
            _helm.cache_clear()


def choose(name: str) -> None:
    """Uses another Helm from here on, named as `CHARTKIT_HELM` names it."""
    close()
    os.environ[VARIABLE] = name


def chosen_program() -> str | None:
    """The program to use, None for the library; the library where nothing is chosen and it is
    installed. Raises HelmMissingError where the chosen one is missing."""
    named = os.environ.get(VARIABLE) or None
    if named == LIBRARY or (named is None and library_folder() is not None):
        if library_folder() is None:
            hint = f"{extra('helm')}, or choose `{PROGRAM}`"
            raise HelmMissingError("Helm's library is not installed", hint=hint)
        return None
    if named is not None and named != PROGRAM:
        return named
    program = shutil.which("helm")
    if program is None:
        missing = "there is no `helm` program on PATH"
        if library_folder() is None:
            missing = "a chart needs Helm; neither its library nor a `helm` program is installed"
        hint = f"{extra('helm')}, or put `helm` 3.18 or newer on PATH or name it: --helm PATH"
        raise HelmMissingError(missing, hint=hint)
    return program


def identity() -> str | None:
    """Return what tells the Helm in use from any other, with its version; None where its file does
    not tell, as a script that picks one. Raise HelmMissingError where it is missing.

    The library's identity is among the installed packages (`cache_folder.program_digest`).
    """
    program = chosen_program()
    if program is None:
        return LIBRARY
    from chartkit.helm.program import is_binary

    file = os.path.realpath(shutil.which(program) or program)
    if not os.path.basename(file).startswith("helm") or not is_binary(file):
        return None
    status = os.stat(file)
    return f"{file} {status.st_size} {status.st_mtime_ns}"


@cache
def library_folder() -> Path | None:
    """The folder that holds the module `helm_python`, None where it is not installed."""
    spec = find_spec("helm_python")
    return Path(spec.origin).parents[1] if spec is not None and spec.origin else None


class HelmCallError(ChartkitError):
    """Helm cannot be started, or gives no answer."""

    exit_code: ClassVar[int] = 1


class HelmRefusedError(HelmCallError):
    """Helm did not do what it was asked to do; the message is Helm's own text."""


class HelmClient:
    """Helm for its user. Every call raises HelmCallError."""

    def __init__(self, limit: float, flags: Sequence[str] = ()) -> None:
        """Create the client. limit: seconds of a call; flags: arguments of each call.

        Raises HelmMissingError where there is no Helm.
        """
        self._program = chosen_program()
        self._limit = limit
        self._flags = flags
        self._shown: set[str] = set()

    def release(self, name: str) -> tuple[Any, Any] | None:
        """Return the answers of `helm get metadata` and `helm status` for a release, None without
        one."""
        if self._program is None:
            metadata, status = self._json(["read", name])
            return (metadata, status) if metadata else None
        # The program says in words alone that there is no release; a list says it in data. Of
        # unfinished ones version 3 tells when it is asked for them.
        states = ["--deployed", "--failed", "--pending", "--superseded", "--uninstalling"]
        if not self._json(["list", "--filter", f"^{name}$", *states]):
            return None
        return self._json(["get", "metadata", name]), self._json(["status", name])

    def _json(self, arguments: list[str]) -> Any:
        return json.loads(self.run([*arguments, "--output", "json"])[0])

    def run(self, arguments: Sequence[str]) -> tuple[str, str]:
        """Run a command of Helm's, and return its standard output and error. Warnings of the API
        server are printed, each once. Ctrl-C ends the call in order."""
        command = [self._program or "", *arguments, *self._flags]
        executable = None
        if self._program is None:
            # Under server-side apply a list such as `validationActions` belongs to those who wrote
            # its items, and Helm writes as the process is called: it must not be `python`.
            code = [*python_command(_CODE)[1:], str(library_folder())]
            command = [os.path.join(sys.prefix, "helm"), *code, *command[1:]]
            executable = sys.executable
        try:
            process = subprocess.Popen(
                command,
                executable=executable,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise HelmCallError(f"'{command[0]}' cannot be started: {reason}") from None
        with process:
            try:
                out, err = process.communicate(timeout=self._limit)
            except subprocess.TimeoutExpired:
                raise HelmCallError(f"Helm gave no answer within {self._limit:g} s") from None
            except KeyboardInterrupt:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=_ENDING_SECONDS)
                raise
            finally:
                process.kill()
        for warning in _WARNING.findall(err):
            if warning not in self._shown:
                self._shown.add(warning)
                sys.stderr.write(f"warning of the API server: {shown(warning)}\n")
        if process.returncode:
            raise HelmRefusedError(" ".join(error_text(err).split()))
        return out, err
