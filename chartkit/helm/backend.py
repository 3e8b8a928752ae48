"""Picks the Helm to use: the library, or the `helm` program."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.errors import HelmMissingError
from chartkit.helm.sandbox.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from chartkit.helm.gateway import Gateway

VARIABLE: Final = "CHARTKIT_HELM"
"""Names the Helm to use: `library`, `program`, or the path of a program."""
LIBRARY: Final = "library"
PROGRAM: Final = "program"
_EXTRA: Final = "pip install '.[helm]' where chartkit's source is"


_starting: Final = threading.RLock()
"""Held while Helm is made or ended: of two that threads make at once, nobody would end one."""


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
    makes; nothing where it cannot be told which Helm is in use."""
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
    """Ends Helm and removes its copies of charts, once nobody waits for it. The next call starts
    it anew."""
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
            hint = f"{_EXTRA}, or choose `{PROGRAM}`"
            raise HelmMissingError("Helm's library is not installed", hint=hint)
        return None
    if named is not None and named != PROGRAM:
        return named
    found = shutil.which("helm")
    if found is None:
        missing = "there is no `helm` program on PATH"
        if library_folder() is None:
            missing = "a chart needs Helm; neither its library nor a `helm` program is installed"
        hint = f"{_EXTRA}, or put `helm` 3.18 or newer on PATH or name it: --helm PATH"
        raise HelmMissingError(missing, hint=hint)
    return found


def identity() -> str | None:
    """Return what tells the Helm in use from any other, with its version; None where its file does
    not tell, as a script that picks one. Raise HelmMissingError where it is missing.

    That of the library is among the installed packages (`cache_folder.program_digest`).
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
    found = find_spec("helm_python")
    return Path(found.origin).parents[1] if found is not None and found.origin else None
