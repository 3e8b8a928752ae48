"""The `helm` program, version 3.18 or newer and 4, started for each call."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from chartkit.errors import RenderError
from chartkit.helm.model import DryRun, Finding, HelmStoppedError, Target, Texts, logged, warnings
from chartkit.helm.sandbox.process import FileAccess, Limits, ProgramResult, Programs, StoppedError
from chartkit.model import Body

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
        texts = _split(done.out)
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


def _split(stream: str) -> dict[str, str]:
    """The texts of a stream by the `# Source:` line that each document begins with."""
    texts: dict[str, list[str]] = {}
    name = ""
    for document in _documents(stream):
        first, _, rest = document.partition("\n")
        if first.startswith(_SOURCE):
            name, document = first.removeprefix(_SOURCE).strip(), rest
        if document.strip():
            texts.setdefault(name, []).append(document.rstrip("\n") + "\n")
    return {name: "---\n".join(parts) for name, parts in texts.items()}
