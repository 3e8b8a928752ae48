"""Releases through Helm's library, in a thread, so that Ctrl-C ends an operation in order; or
through its program where there is no library."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from chartkit.addons.operate.install.program import ProgramReleases
from chartkit.addons.operate.install.releases import (
    MARK,
    DesiredRelease,
    Release,
    Releases,
    driver,
    failure,
    release_of,
)
from chartkit.helm.backend import chosen_program
from chartkit.model import Body
from chartkit.network.cluster.client import MANAGER, Cluster

_ENDING_SECONDS: Final = 10
"""Seconds that an operation may take to end after Ctrl-C."""
_Answer = TypeVar("_Answer")
_LOOK_SECONDS: Final = 0.05
_BURST: Final = 200
_REQUESTS_A_SECOND: Final = 50
"""A release has some 80 objects, each read and written: Helm's own 5 a second take minutes."""
_DRIVERS: Final = {"secret": "secret", "config_map": "configmap"}


class LibraryReleases:
    """Helm in process, through helm-python-sdk."""

    def __init__(
        self,
        library: Any,
        cluster: Cluster,
        namespace: str,
        timeout: int,
        driver: str,
        force_conflicts: bool = False,
        take_ownership: bool = False,
    ) -> None:
        """Create the port. force_conflicts: whether upgrades take over fields that another program
        wrote; take_ownership: whether releases take over objects that are there already."""
        self._library = library
        self._force_conflicts = force_conflicts
        # An object that is taken over has fields that another program wrote.
        taken = ("take_ownership", "force_conflicts") if take_ownership else ()
        self._taken = dict.fromkeys(taken, True)
        self._namespace = namespace
        self._timeout = timeout
        self._shown: set[str] = set()
        self._options = {
            "kubeconfig_path": cluster.kubeconfig,
            "kube_context": cluster.context or None,
            "namespace": namespace,
            "storage_driver": _DRIVERS[driver],
            "burst_limit": _BURST,
            "qps": _REQUESTS_A_SECOND,
        }

    def read(self, name: str) -> Release | None:
        with self._config() as config:
            try:
                body: Body = self._in_thread(lambda: config.get_all(name))
                metadata: Body = self._in_thread(lambda: config.get_metadata(name))
            except self._library.HelmNotFoundError:
                return None
            except self._library.HelmError as error:
                raise failure(str(error)) from None
        return release_of(metadata, body["summary"].get("manifest", ""), body.get("config"))

    def install(self, wanted: DesiredRelease) -> None:
        self._write("helm_install", wanted, create_namespace=True, **self._taken)

    def upgrade(self, wanted: DesiredRelease) -> None:
        options = {"force_conflicts": self._force_conflicts, **self._taken}
        self._write("helm_upgrade", wanted, reset_values=True, **options)

    def uninstall(self, name: str, hooks: bool) -> None:
        options: Body = {"ignore_not_found": True, "timeout_seconds": self._timeout}
        if not hooks:
            # Config.uninstall has no word for it; its C call takes it.
            options["disable_hooks"] = True
        native = self._library._native
        with self._config() as config:
            raw = config._raw()
            try:
                self._in_thread(
                    lambda: native.call_string("helm_uninstall", raw, name, json.dumps(options))
                )
            except self._library.HelmError as error:
                raise failure(str(error)) from None

    def _write(self, verb: str, wanted: DesiredRelease, **options: bool) -> None:
        given = {
            "namespace": self._namespace,
            "timeout_seconds": self._timeout,
            "labels": MARK,
            **options,
        }
        native = self._library._native
        with self._config() as config, self._library.HelmContext() as context:
            # Config.upgrade has no word for conflicts; its C call takes it.
            arguments = (
                config._raw(),
                config._context_arg(context),
                *config._chart_args(wanted.chart),
                wanted.name,
                json.dumps(wanted.values),
                json.dumps(given),
            )
            try:
                self._in_thread(lambda: native.call_string(verb, *arguments), context.cancel)
            except self._library.HelmError as error:
                raise failure(str(error)) from None

    def _config(self) -> Any:
        try:
            return self._library.Config(**self._options)
        except self._library.HelmError as error:
            raise failure(str(error)) from None

    def _in_thread(
        self, call: Callable[[], _Answer], cancel: Callable[[], None] = lambda: None
    ) -> _Answer:
        """Run a call where Ctrl-C reaches Python: it cancels, and waits for the call to end.

        The thread is a daemon: a call that does not end does not keep the process.
        """
        answers: list[_Answer] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                answers.append(call())
            except self._library.HelmError as error:
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        with warnings_once(self._shown):
            thread.start()
            self._wait(thread, cancel)
        if errors:
            raise errors[0]
        return answers[0]

    def _wait(self, thread: threading.Thread, cancel: Callable[[], None]) -> None:
        try:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
        except KeyboardInterrupt:
            cancel()
            thread.join(_ENDING_SECONDS)
            raise


_STAT: Final = Path("/proc/self/stat")
_ARG_START: Final = 48
"""The number of the field that says where the process's arguments begin; see proc(5)."""


def write_as_helm() -> bool:
    """Name the process `helm` before Helm's library is loaded, which reads the name once; returns
    whether that worked, as it does on Linux.

    Under server-side apply a list such as `validationActions` belongs to those who wrote its items:
    what two managers wrote adds up. The library calls itself as the process is called, `python`,
    and would share every list with the program `helm`.
    """
    given = os.fsencode(sys.orig_argv[0]) if sys.orig_argv else b""
    name = given.rpartition(b"/")[2]
    if len(name) < len(MANAGER):
        return False
    try:
        fields = _STAT.read_text("ascii", "replace").rpartition(")")[2].split()
        start = int(fields[_ARG_START - 3])
    except (OSError, ValueError, IndexError):
        return False
    if not start or ctypes.string_at(start, len(given) + 1) != given + b"\0":
        return False
    ctypes.memmove(start + len(given) - len(name), MANAGER.encode() + b"\0", len(MANAGER) + 1)
    return True


_LINE: Final = re.compile(r"([IWEF])\d{4} [\d:.]+ +\d+ ([\w.-]+):\d+\] (.*)")
_WARNINGS: Final = "warnings.go"
_STDERR: Final = 2


@contextmanager
def warnings_once(shown: set[str]) -> Iterator[None]:
    """Filter warnings of the API server from standard error while Go runs, whose client writes one
    for every object (`I1121 20:14:39.1 2465 warnings.go:107] "Warning: …"`): each text is shown
    once, other lines pass as they are. shown: texts that were shown already."""
    try:
        before = os.dup(_STDERR)
    except OSError:
        # Standard error is closed: there is nothing to stand before.
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, _STDERR)
    os.close(writing)
    thread = threading.Thread(target=_pass_on, args=(reading, before, shown), daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.dup2(before, _STDERR)
        thread.join()
        os.close(before)


def readable(line: str, shown: set[str]) -> str:
    """Return a line as it is shown, empty where it repeats another."""
    found = _LINE.fullmatch(line)
    if found is None:
        return line
    severity, file, text = found.groups()
    if file != _WARNINGS:
        return "" if severity == "I" else line
    text = text.strip('"').removeprefix("Warning: ")
    if text in shown:
        return ""
    shown.add(text)
    return f"warning of the API server: {text}"


def _pass_on(reading: int, to: int, shown: set[str]) -> None:
    with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = readable(line.rstrip("\n"), shown)
            if text:
                os.write(to, f"{text}\n".encode())


def releases(
    cluster: Cluster,
    namespace: str,
    timeout: int,
    force_conflicts: bool = False,
    take_ownership: bool = False,
) -> Releases:
    """Return Helm for the releases of a namespace. timeout: seconds for hooks; force_conflicts:
    whether upgrades take over fields that another program wrote; take_ownership: whether releases
    take over objects that are there already.

    Raises HelmMissingError where there is no Helm, InputError for a HELM_DRIVER that is not known.
    """
    kept = driver()
    program = chosen_program()
    if program is not None:
        return ProgramReleases(
            program, cluster, namespace, timeout, force_conflicts, take_ownership
        )
    # Not in the child process of `chartkit.helm`: a release needs the network and the
    # kubeconfig. `plan` has rendered the same chart within limits before.
    import helm_python

    return LibraryReleases(
        helm_python, cluster, namespace, timeout, kept, force_conflicts, take_ownership
    )
