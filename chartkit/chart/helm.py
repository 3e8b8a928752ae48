"""Helm itself: the library in process, and the `helm` program where the library is not to be had.

Both answer the same three questions about a chart folder; `helm()` picks one. What they raise is a
RenderError with Helm's own text; `chartkit.chart.render` finds the place that the text speaks of.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import yaml

from chartkit.errors import RenderError
from chartkit.model import Body

PROGRAM = "CHARTKIT_HELM"
"""Names the `helm` program to use in place of the library."""

_TIMEOUT_SECONDS = 120
_SOURCE = "# Source: "
_ADVICE = "\n\nUse --debug flag"


@dataclass(frozen=True, slots=True)
class Target:
    """What a chart is rendered for; empty kube_version: the newest that Helm knows."""

    release: str
    namespace: str
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One message of `helm lint`; severity 1: info, 2: warning, 3: error."""

    severity: int
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What an installation would do.

    notes: what it prints; manifest: what it installs, in Helm's order, hooks and CRDs left out.
    """

    notes: str
    manifest: str


class Helm(Protocol):
    """What chartkit asks of Helm; every method raises RenderError with Helm's text."""

    @property
    def renders_notes(self) -> bool:
        """Whether `render` gives NOTES.txt, too."""
        ...

    def render(self, chart: Path, values: Body, target: Target) -> dict[str, str]:
        """Rendered texts by `chart/templates/file`, hooks among them."""
        ...

    def admit(self, chart: Path, target: Target) -> None:
        """Enforces Chart.yaml's kubeVersion as `dry_run` does, and renders nothing; for a chart
        that names no dependencies."""
        ...

    def crds(self, chart: Path) -> dict[str, str]:
        """The texts below `crds/`, subcharts' among them, by `chart/crds/file`."""
        ...

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        """What an installation would do; enforces Chart.yaml's kubeVersion."""
        ...

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        """What `helm lint` says; schema: whether it looks at values.schema.json, too."""
        ...


@cache
def helm() -> Helm:
    """The library, or the program where the library cannot be loaded or `CHARTKIT_HELM` is set."""
    named = os.environ.get(PROGRAM)
    if named:
        return HelmProgram(named)
    try:
        import helm_python
    except ImportError:
        return HelmProgram(_find_program())
    return HelmLibrary(helm_python)


def _find_program() -> str:
    found = shutil.which("helm")
    if found is None:
        hint = f"install helm-python-sdk, or Helm 3 or 4 (named by {PROGRAM} if not on PATH)"
        raise RenderError("Helm is not here, neither as a library nor as a program", hint=hint)
    return found


class HelmLibrary:
    """Helm in process, through helm-python-sdk."""

    def __init__(self, library: Any) -> None:
        self._library = library

    @property
    def library(self) -> Any:
        """The module `helm_python`."""
        return self._library

    @property
    def renders_notes(self) -> bool:
        return True

    def render(self, chart: Path, values: Body, target: Target) -> dict[str, str]:
        options: dict[str, Any] = {"name": target.release, "namespace": target.namespace}
        return self._call("helm_render", chart, values, options | _cluster(target))

    def admit(self, chart: Path, target: Target) -> None:
        with _bare(chart) as bare:
            self.dry_run(bare, {}, target)

    def crds(self, chart: Path) -> dict[str, str]:
        with self._load(chart) as loaded:
            return {crd["filename"]: crd["data"] for crd in loaded.crds}

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        options = _cluster(target) | {"dry_run": "client", "namespace": target.namespace}
        native = self._library._native
        # Chart.render and Config.install leave out kube_version and api_versions; their C calls
        # take them.
        try:
            with (
                self._load(chart) as loaded,
                self._library.Config(
                    kubeconfig_content=_NO_CLUSTER,
                    namespace=target.namespace,
                    storage_driver="memory",
                ) as config,
            ):
                answer = native.call_string(
                    "helm_install",
                    config._raw(),
                    native.HANDLE(0),
                    loaded._raw(),
                    None,
                    target.release,
                    json.dumps(values),
                    json.dumps(options),
                )
        except self._library.HelmError as error:
            raise RenderError(str(error)) from None
        release = json.loads(answer)
        return DryRun(release.get("notes", ""), release.get("manifest", ""))

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        try:
            report = self._library.lint(
                chart,
                values,
                namespace=target.namespace,
                kube_version=target.kube_version or None,
                skip_schema_validation=not schema,
            )
        except self._library.HelmError as error:
            raise RenderError(str(error)) from None
        return [
            Finding(message["severity"], message["path"], message["error"])
            for message in report["messages"]
        ]

    def _load(self, chart: Path) -> Any:
        try:
            return self._library.Chart.load(chart)
        except self._library.HelmError as error:
            raise RenderError(str(error)) from None

    def _call(self, function: str, chart: Path, values: Body, options: Body) -> dict[str, str]:
        with self._load(chart) as loaded:
            try:
                answer = self._library._native.call_string(
                    function, loaded._raw(), json.dumps(values), json.dumps(options)
                )
            except self._library.HelmError as error:
                raise RenderError(str(error)) from None
        texts: dict[str, str] = json.loads(answer)
        return texts


class HelmProgram:
    """The `helm` program, version 3 or 4."""

    def __init__(self, program: str) -> None:
        self._program = program

    @property
    def program(self) -> str:
        """The program's name or path."""
        return self._program

    @property
    def renders_notes(self) -> bool:
        return False

    def render(self, chart: Path, values: Body, target: Target) -> dict[str, str]:
        arguments = ["template", target.release, str(chart), *_flags(target), "--skip-crds"]
        return _split(self._run(arguments, values))

    def admit(self, chart: Path, target: Target) -> None:
        with _bare(chart) as bare:
            self._run(["template", target.release, str(bare), *_flags(target)], {})

    def crds(self, chart: Path) -> dict[str, str]:
        return _split(self._run(["show", "crds", str(chart)], None), f"{chart.name}/crds")

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        # `helm install --dry-run` has no --kube-version: `helm template` enforces the range, and
        # a copy of the chart without one gives the notes.
        arguments = ["template", target.release, str(chart), *_flags(target)]
        manifest = self._run([*arguments, "--skip-crds", "--no-hooks"], values)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(chart, Path(folder) / chart.name))
            _without_range(copy / "Chart.yaml")
            arguments = ["install", target.release, str(copy), "--dry-run=client", "-o", "json"]
            answer = self._run([*arguments, "--namespace", target.namespace], values)
        return DryRun(json.loads(answer).get("info", {}).get("notes", ""), manifest)

    def lint(
        self,
        chart: Path,
        values: Body,
        target: Target,
        schema: bool = True,  # noqa: ARG002 - older versions cannot leave it out
    ) -> list[Finding]:
        version = ["--kube-version", target.kube_version] if target.kube_version else []
        arguments = ["lint", str(chart), "--namespace", target.namespace, *version]
        answer = self._run(arguments, values, failing=True)
        return [found for line in answer.splitlines() if (found := _finding(line))]

    def _run(self, arguments: list[str], values: Body | None, failing: bool = False) -> str:
        with tempfile.TemporaryDirectory() as folder:
            if values is not None:
                file = Path(folder) / "values.json"
                file.write_text(json.dumps(values), "utf-8")
                arguments = [*arguments, "--values", str(file)]
            try:
                done = subprocess.run(
                    [self._program, *arguments],
                    capture_output=True,
                    text=True,
                    timeout=_TIMEOUT_SECONDS,
                    env={**os.environ, "KUBECONFIG": os.devnull},
                    check=False,
                )
            except OSError as error:
                reason = error.strerror or str(error)
                raise RenderError(f"'{self._program}' cannot be started: {reason}") from None
            except subprocess.TimeoutExpired:
                text = f"'{self._program}' gave no answer within {_TIMEOUT_SECONDS} s"
                raise RenderError(text) from None
        if done.returncode and not failing:
            raise RenderError(done.stderr.partition(_ADVICE)[0].strip().removeprefix("Error: "))
        return done.stdout


_NO_CLUSTER = json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [], "contexts": []})
_SEVERITIES = {"INFO": 1, "WARNING": 2, "ERROR": 3}


def _cluster(target: Target) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if target.kube_version:
        options["kube_version"] = target.kube_version
    if target.api_versions:
        options["api_versions"] = list(target.api_versions)
    return options


def _flags(target: Target) -> list[str]:
    flags = ["--namespace", target.namespace]
    if target.kube_version:
        flags += ["--kube-version", target.kube_version]
    for version in target.api_versions:
        flags += ["--api-versions", version]
    return flags


@contextmanager
def _bare(chart: Path) -> Iterator[Path]:
    """A chart of the same metadata and nothing else: its range is all that Helm can refuse."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(chart / "Chart.yaml", Path(folder) / "Chart.yaml")
        yield Path(folder)


def _split(stream: str, default: str = "") -> dict[str, str]:
    """The texts of a stream of documents by the `# Source:` line that each begins with."""
    texts: dict[str, list[str]] = {}
    name = default
    for document in stream.split("\n---\n"):
        body = document.removeprefix("---\n")
        first = body.partition("\n")[0]
        if first.startswith(_SOURCE):
            name = first.removeprefix(_SOURCE).strip()
            body = body.partition("\n")[2]
        if body.strip():
            texts.setdefault(name, []).append(body.rstrip("\n") + "\n")
    return {name: "---\n".join(parts) for name, parts in texts.items()}


def _without_range(file: Path) -> None:
    metadata = yaml.safe_load(file.read_text("utf-8"))
    metadata.pop("kubeVersion", None)
    file.write_text(yaml.safe_dump(metadata), "utf-8")


def _finding(line: str) -> Finding | None:
    """One line of `helm lint`: `[ERROR] templates/x.yaml: what is wrong`."""
    level, _, rest = line.removeprefix("[").partition("] ")
    if level not in _SEVERITIES:
        return None
    path, _, message = rest.partition(": ")
    return Finding(_SEVERITIES[level], path, message)
