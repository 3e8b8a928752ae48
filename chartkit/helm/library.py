"""Helm's library (helm-python-sdk) in child processes, each kept for the next call."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chartkit.errors import RenderError
from chartkit.helm.model import DryRun, Finding, HelmStoppedError, Target, Texts, logged, warnings
from chartkit.helm.sandbox.limits import Limits
from chartkit.helm.sandbox.process import (
    FileAccess,
    RefusedError,
    StoppedError,
    Worker,
    WorkerReply,
)
from chartkit.model import Body


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
        found = [
            Finding(message["severity"], message["path"], message["error"])
            for message in json.loads(answer.text)["messages"]
        ]
        return [*found, *logged(warnings(answer.log))]

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
