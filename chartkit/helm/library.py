"""Helm's library (helm-python-sdk) in child processes, each kept for the next call."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from chartkit.errors import RenderError
from chartkit.helm.model import DryRun, Finding, HelmStoppedError, Target, Texts, logged, warnings
from chartkit.helm.sandbox.confine import die_with_parent
from chartkit.helm.sandbox.process import (
    FileAccess,
    Limits,
    RefusedError,
    StoppedError,
    Worker,
    WorkerReply,
)
from chartkit.model import Body

_BURST: Final = 200
_REQUESTS_A_SECOND: Final = 50
"""A release has some 80 objects, each read and written: Helm's own 5 a second take minutes."""
_Arguments = argparse.Namespace
_Library = Any


class Workers:
    """As many workers as calls run at a time; each is started when none is free."""

    def __init__(self, library: str, access: FileAccess, limits: Limits) -> None:
        self._given = (library, access, limits)
        self._free: list[Worker] = []
        self._busy: set[Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Starts a worker that the first call will find."""
        with self._lock:
            if not self._free and not self._busy:
                self._free.append(Worker(*self._given))

    def ask(self, call: Mapping[str, Any], limits: Limits) -> WorkerReply:
        """A worker's answer; raises RefusedError and StoppedError as it does."""
        with self._lock:
            if self._closed:
                raise StoppedError("it was ended")
            alive = next((worker for worker in self._free if worker.alive), None)
            worker = alive or Worker(*self._given)
            if alive is not None:
                self._free.remove(alive)
            self._busy.add(worker)
        try:
            return worker.ask(call, limits)
        finally:
            with self._lock:
                self._busy.discard(worker)
                is_kept = worker.alive and not self._closed
                self._free += [worker] if is_kept else []
            if not is_kept:
                worker.close()

    def close(self) -> None:
        """Kills every worker; calls that wait for one are stopped."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
            for worker in self._busy:
                worker.kill()
        for worker in free:
            worker.close()


class HelmLibrary:
    """Helm 4 as a library; its answers are JSON."""

    def __init__(
        self, library: str, access: FileAccess, limits: Limits, workers: Workers | None = None
    ) -> None:
        self._access = (library, access)
        self._limits = limits
        self._workers = workers or Workers(library, access, limits)

    def within(self, limits: Limits) -> HelmLibrary:
        return HelmLibrary(*self._access, self._limits.at_most(limits), self._workers)

    def start(self) -> None:
        self._workers.start()

    def close(self) -> None:
        self._workers.close()

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        options = {"name": target.release, "namespace": target.namespace} | _cluster(target)
        answer = self._ask("render", chart, values, options)
        return Texts(json.loads(answer.text), warnings(answer.log))

    def admit(self, chart: Path, target: Target) -> None:
        self.dry_run(chart, {}, target)

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        options = _cluster(target) | {"dry_run": "client", "namespace": target.namespace}
        answer = self._ask("dry_run", chart, values, options, target.release)
        release = json.loads(answer.text)
        return DryRun(release.get("notes", ""), release.get("manifest", ""))

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        options = {"namespace": target.namespace, "skip_schema_validation": not schema}
        if target.kube_version:
            options["kube_version"] = target.kube_version
        answer = self._ask("lint", chart, values, options)
        findings = [
            Finding(message["severity"], message["path"], message["error"])
            for message in json.loads(answer.text)["messages"]
        ]
        return [*findings, *logged(warnings(answer.log))]

    def _ask(
        self, do: str, chart: Path, values: Body, options: Body, release: str = ""
    ) -> WorkerReply:
        call = {
            "do": do,
            "chart": str(chart),
            "release": release,
            "values": json.dumps(values),
            "options": json.dumps(options),
        }
        try:
            return self._workers.ask(call, self._limits)
        except RefusedError as error:
            raise RenderError(error.message) from None
        except StoppedError as error:
            raise HelmStoppedError(error.message) from None


def _cluster(target: Target) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if target.kube_version:
        options["kube_version"] = target.kube_version
    if target.api_versions:
        options["api_versions"] = list(target.api_versions)
    return options


def main(library_folder: str, *arguments: str) -> None:
    """Carry out a command; exit with 1 and Helm's message where it fails. Ctrl-C cancels it."""
    die_with_parent(os.getppid())
    sys.path.append(library_folder)
    parser = argparse.ArgumentParser("helm", allow_abbrev=False)
    parser.add_argument("command", choices=_COMMANDS)
    parser.add_argument("operands", nargs="*")
    for option in ("namespace", "values", "labels", "timeout", "version", "destination", "output"):
        parser.add_argument(f"--{option}", default="")
    for option in ("kubeconfig", "kube-context"):
        parser.add_argument(f"--{option}")
    flags = ("create-namespace", "take-ownership", "force-conflicts", "reset-values", "no-hooks")
    for option in (*flags, "ignore-not-found", "plain-http"):
        parser.add_argument(f"--{option}", action="store_true")
    given = parser.parse_args(arguments)
    failures: list[str] = []

    import helm_python

    def run() -> None:
        try:
            sys.stdout.write(_COMMANDS[given.command](helm_python, given, context))
        except helm_python.HelmError as error:
            failures.append(f"Error: {error}")

    with helm_python.HelmContext() as context:
        # A signal reaches Python in its first thread alone, and only while no call of Go's runs.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: context.cancel())
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    sys.exit(failures[0] if failures else 0)


def _config(library: _Library, given: _Arguments) -> Any:
    is_config_map = os.environ.get("HELM_DRIVER", "").startswith("configmap")
    return library.Config(
        kubeconfig_path=given.kubeconfig,
        kube_context=given.kube_context,
        namespace=given.namespace,
        storage_driver="configmap" if is_config_map else "secret",
        burst_limit=_BURST,
        qps=_REQUESTS_A_SECOND,
    )


def _read(library: _Library, given: _Arguments, _: Any) -> str:
    (name,) = given.operands
    with _config(library, given) as config:
        try:
            stored = config.get_all(name)
            status = {"manifest": stored["summary"].get("manifest"), "config": stored.get("config")}
            return json.dumps([config.get_metadata(name), status])
        except library.HelmNotFoundError:
            return json.dumps([None, None])


def _write(library: _Library, given: _Arguments, context: Any) -> str:
    # `Config.upgrade` has no word for conflicts; its C call takes it.
    name, chart = given.operands
    options = {
        "namespace": given.namespace,
        "timeout_seconds": _seconds(given),
        "labels": dict(label.split("=") for label in given.labels.split(",")),
        "create_namespace": given.create_namespace,
        "reset_values": given.reset_values,
        "take_ownership": given.take_ownership,
        # An object that is taken over has fields that another program wrote.
        "force_conflicts": given.force_conflicts or given.take_ownership,
    }
    options = {option: value for option, value in options.items() if value}
    values = Path(given.values).read_text("utf-8")
    with _config(library, given) as config:
        handles = (config._raw(), config._context_arg(context), *config._chart_args(chart))
        call = (f"helm_{given.command}", *handles, name, values, json.dumps(options))
        return str(library._native.call_string(*call))


def _uninstall(library: _Library, given: _Arguments, _: Any) -> str:
    # `Config.uninstall` has no word for hooks; its C call takes it.
    (name,) = given.operands
    options = {"ignore_not_found": given.ignore_not_found, "timeout_seconds": _seconds(given)}
    options |= {"disable_hooks": True} if given.no_hooks else {}
    with _config(library, given) as config:
        call = ("helm_uninstall", config._raw(), name, json.dumps(options))
        return str(library._native.call_string(*call))


def _seconds(given: _Arguments) -> int:
    return int(given.timeout.removesuffix("s"))


def _push(library: _Library, given: _Arguments, _: Any) -> str:
    archive, remote = given.operands
    with library.Chart.load(archive) as chart:
        reference = f"{remote}/{chart.name}:{chart.version.replace('+', '_')}"
    with library.RegistryClient(plain_http=given.plain_http) as client:
        client.push(archive, remote, plain_http=given.plain_http)
        return f"Digest: {client.resolve(reference)['digest']}\n"


def _pull(library: _Library, given: _Arguments, _: Any) -> str:
    (reference,) = given.operands
    with library.RegistryClient(plain_http=given.plain_http) as client:
        client.pull(
            reference,
            destination=given.destination,
            version=given.version,
            plain_http=given.plain_http,
        )
    return ""


_COMMANDS: Final[dict[str, Callable[[_Library, _Arguments, Any], str]]] = {
    "read": _read,
    "install": _write,
    "upgrade": _write,
    "uninstall": _uninstall,
    "push": _push,
    "pull": _pull,
}
