"""Picks the Helm to use, the library or the `helm` program (3.18 or newer, and 4), and asks it with
the rights of its user for releases and registries."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import yaml

from chartkit.errors import ChartkitError, HelmMissingError, RenderError, extra
from chartkit.helm.model import DryRun, Finding, HelmStoppedError, Target, Texts, logged, warnings
from chartkit.helm.sandbox.process import (
    DEFAULT,
    FileAccess,
    Limits,
    ProgramResult,
    Programs,
    StoppedError,
    python_command,
)
from chartkit.model import Body
from chartkit.safe_text import shown

if TYPE_CHECKING:
    from chartkit.helm.gateway import Gateway


_SOURCE: Final = "# Source: "
_ADVICE: Final = "\n\nUse --debug flag"
_SEVERITIES: Final = {"INFO": 1, "WARNING": 2, "ERROR": 3}
_FINDING: Final = re.compile(
    r"^\[(INFO|WARNING|ERROR)\] (.*?): (.*?)(?=^\[|^(?:Error: )?\d+ chart\(s\)|\Z)", re.M | re.S
)
_ERROR: Final = re.compile(r"^Error: ", re.M)
_NOTES_FILE: Final = "templates/NOTES.txt"
_NOTES: Final = "templates/chartkit-notes.yaml"
_MANIFEST: Final = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: chartkit-notes}
data: {notes: {{ include (print $.Template.BasePath "/NOTES.txt") . | toJson }}}
"""
_BINARY: Final = b"\x7fELF"
_HOMES: Final = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_PLUGINS")


class HelmProgram:
    """The `helm` program; its answers are what it prints."""

    def __init__(
        self, program: str, access: FileAccess, limits: Limits, programs: Programs | None = None
    ) -> None:
        self._program = program
        self._access = access
        self._limits = limits
        self._programs = programs or Programs()

    def within(self, limits: Limits) -> HelmProgram:
        limits = self._limits.at_most(limits)
        return HelmProgram(self._program, self._access, limits, self._programs)

    def start(self) -> None:
        """Does nothing: each call starts the program."""

    def close(self) -> None:
        self._programs.close()

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        with _prepared(chart, enforced=False) as folder:
            arguments = ["template", target.release, str(folder), *_flags(target), "--skip-crds"]
            done = self._run(arguments, values)
        # The texts of a stream by the `# Source:` line that each document begins with.
        by_file: dict[str, list[str]] = {}
        name = ""
        for document in _documents(done.out):
            first, _, rest = document.partition("\n")
            if first.startswith(_SOURCE):
                name, document = first.removeprefix(_SOURCE).strip(), rest
            if document.strip():
                by_file.setdefault(name, []).append(document.rstrip("\n") + "\n")
        texts = {name: "---\n".join(parts) for name, parts in by_file.items()}
        for name in [name for name in texts if name.endswith(f"/{_NOTES}")]:
            texts[name.removesuffix(_NOTES) + _NOTES_FILE] = _notes(texts.pop(name))
        return Texts(texts, warnings(done.err))

    def admit(self, chart: Path, target: Target) -> None:
        self._run(["template", target.release, str(chart), *_flags(target)], {})

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        # `helm install --dry-run` takes no --kube-version, and that of version 3 asks a cluster.
        with _prepared(chart, enforced=True) as folder:
            arguments = ["template", target.release, str(folder), *_flags(target)]
            stream = self._run([*arguments, "--skip-crds", "--no-hooks"], values).out
        manifest, notes = [], ""
        for document in _documents(stream):
            if document.partition("\n")[0].endswith(f"/{_NOTES}"):
                notes = _notes(document)
            else:
                manifest.append(f"---\n{document}\n")
        return DryRun(notes, "".join(manifest))

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        version = ["--kube-version", target.kube_version] if target.kube_version else []
        skipped = [] if schema else ["--skip-schema-validation"]
        arguments = ["lint", str(chart), "--namespace", target.namespace, *version, *skipped]
        answer = self._run(arguments, values, failing=True)
        findings = [
            Finding(_SEVERITIES[level], path, message.strip())
            for level, path, message in _FINDING.findall(answer.out)
        ]
        return [*findings, *logged(warnings(answer.err))]

    def _run(self, arguments: list[str], values: Body, failing: bool = False) -> ProgramResult:
        program = shutil.which(self._program) or self._program
        access = self._access
        if not is_binary(program):
            # A script that finds the program may read whatever it needs for that.
            access = replace(access, readable=None)
        elif access.readable is not None:
            access = replace(access, readable=(*access.readable, os.path.realpath(program)))
        with tempfile.TemporaryDirectory(dir=access.temporary) as folder:
            file = Path(folder) / "values.json"
            file.write_text(json.dumps(values), "utf-8", newline="\n")
            given = [*arguments, "--values", str(file)]
            homes = dict.fromkeys(_HOMES, folder)
            try:
                done = self._programs.run(program, given, access, self._limits, homes)
            except OSError as error:
                reason = error.strerror or str(error)
                raise RenderError(f"'{self._program}' cannot be started: {reason}") from None
            except StoppedError as error:
                raise HelmStoppedError(error.message) from None
        if done.code and not failing:
            raise RenderError(error_text(done.err))
        return done


def error_text(printed: str) -> str:
    """Return the error in what the program prints, without what it logs before."""
    error = _ERROR.search(printed)
    return printed[error.end() if error else 0 :].partition(_ADVICE)[0].strip()


def is_binary(program: str) -> bool:
    """Report whether a file is a program of the system's own form, and no script."""
    try:
        with open(program, "rb") as file:
            return file.read(len(_BINARY)) == _BINARY
    except OSError:
        return False


def _flags(target: Target) -> list[str]:
    flags = ["--namespace", target.namespace]
    if target.kube_version:
        flags += ["--kube-version", target.kube_version]
    for version in target.api_versions:
        flags += ["--api-versions", version]
    return flags


@contextmanager
def _prepared(chart: Path, enforced: bool) -> Iterator[Path]:
    """A copy of a chart whose notes are rendered as a manifest, for `helm template` leaves them
    out; enforced: with its kubeVersion, which `helm template` enforces."""
    with tempfile.TemporaryDirectory(dir=chart.parent) as parent:
        folder = Path(shutil.copytree(chart, Path(parent) / chart.name))
        if (folder / _NOTES_FILE).is_file():
            (folder / _NOTES).write_text(_MANIFEST, "utf-8", newline="\n")
        if not enforced:
            file = folder / "Chart.yaml"
            text = file.read_text("utf-8", "replace") if file.is_file() else ""
            metadata = _mapping(text) if "kubeVersion" in text else {}
            if metadata.pop("kubeVersion", None) is not None:
                file.write_text(yaml.safe_dump(metadata), "utf-8", newline="\n")
        yield folder


def _notes(manifest: str) -> str:
    """The notes in their manifest; what Helm prints of them begins with no empty line."""
    data = _mapping(manifest).get("data")
    return str(data["notes"]) if isinstance(data, dict) else ""


def _mapping(text: str) -> Body:
    try:
        body = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        # Helm says what is wrong with it.
        return {}
    return body if isinstance(body, dict) else {}


def _documents(stream: str) -> Iterator[str]:
    """The documents of a stream, without the line before each."""
    for document in stream.split("\n---\n"):
        text = document.removeprefix("---\n")
        if text.strip():
            yield text


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
    """End Helm once no call waits for it, and remove its charts. The next call starts it anew."""
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
    not tell, as a script that picks one. Raise HelmMissingError where it is missing. The library's
    identity is among the installed packages (`cache_folder.program_digest`)."""
    program = chosen_program()
    if program is None:
        return LIBRARY

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
        """Create the client. limit: seconds of a call; flags: arguments of each call. Raises
        HelmMissingError where there is no Helm."""
        self._program = chosen_program()
        self._limit = limit
        self._flags = flags
        self._shown: set[str] = set()

    def release(self, name: str) -> tuple[Any, Any] | None:
        """The answers of `helm get metadata` and `helm status` for a release, None without one."""
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
