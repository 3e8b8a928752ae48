"""Results of policies that did not refuse an object, as PolicyReports: one for each object.

Reports are written by a thread of their own, to a folder or to the cluster, so that no review waits
for them. Reports that it cannot keep up with are dropped, which the log says.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from chartkit.addons.serve.admission.judge import Verdict
from chartkit.addons.serve.admission.registration import MANAGER
from chartkit.addons.serve.admission.review import Review
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.atomic import replacing
from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_documents
from chartkit.engine import Operation
from chartkit.engine.cel.library.kubernetes import naming
from chartkit.errors import InputError
from chartkit.model import Body, Resource, RuleResult, mapping_at
from chartkit.network.cluster.client import Cluster, connect, object_path
from chartkit.report.model import PolicyFacts, ReportOptions, ReportPer, resource_id
from chartkit.report.policyreport import WGPOLICY, policy_report_writer

_FIRST: Final = ("/validate", "/validate/fail")
"""The paths of webhooks whose reports have the name of the object's UID alone."""
_MOST_WAITING: Final = 10_000
_SHOWN: Final = 80
"""Characters of a name that a message shows."""


class Target(Protocol):
    """A place for reports."""

    def write(self, resource: Resource, report: Body) -> None:
        """Write the report of an object; raise ChartkitError or OSError."""

    def remove(self, resource: Resource) -> None:
        """Remove the report of an object; raise ChartkitError or OSError."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The results of one webhook for an object; path: of the webhook."""

    resource: Resource
    path: str
    results: Sequence[RuleResult]
    facts: Mapping[str, PolicyFacts]
    is_deleted: bool = False


class Reports:
    """The reports of one worker; target: None where none are kept."""

    def __init__(self, target: Target | None, log: Log) -> None:
        self._target = target
        self._log = log
        self._waiting: queue.Queue[_Entry | None] = queue.Queue(_MOST_WAITING)
        self._is_full = False
        self._thread: threading.Thread | None = None

    def add(
        self, review: Review, path: str, verdict: Verdict, facts: Mapping[str, PolicyFacts]
    ) -> None:
        """Keep the results of an allowed review; dry runs and subresources have none, as with
        Kyverno (`NeedsReports`)."""
        if self._target is None or review.is_dry_run or review.subresource:
            return
        if not verdict.answer.allowed or verdict.request is None:
            return
        is_deleted = review.operation is Operation.DELETE
        results = [result for evaluated in verdict.evaluated for result in evaluated.results]
        if results or is_deleted:
            resource = verdict.request.resource
            names = {"name": resource.name, "namespace": resource.namespace, "uid": resource.uid}
            metadata: Body = {key: text for key, text in names.items() if text}
            head = {"apiVersion": resource.api_version, "kind": resource.kind}
            named = Resource({**head, "metadata": metadata}, resource.location)
            self._put(_Entry(named, path, results, facts, is_deleted))

    def _put(self, entry: _Entry) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="reports", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(entry)
        except queue.Full:
            if not self._is_full:
                self._is_full = True
                self._log.warning("reports are left out: they come faster than they are written")

    def close(self) -> None:
        """Write what waits, and end."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()

    def _write_all(self) -> None:
        while (entry := self._waiting.get()) is not None:
            self._is_full = False
            name = resource_id(entry.resource)
            with self._log.guarded("reports", "a report was not written", object=name):
                self._write(entry)

    def _write(self, entry: _Entry) -> None:
        assert self._target is not None
        resource = entry.resource
        _check("namespace", resource.namespace, naming.label)
        if entry.is_deleted:
            self._target.remove(resource)
            return
        _check("uid", resource.uid, naming.subdomain)
        # The PolicyReport of an object, under a name of its own for each webhook.
        options = ReportOptions(entry.facts, detailed=True, per=ReportPer.OBJECT)
        writer = policy_report_writer(options)
        writer.add(entry.resource, entry.results)
        body: Body = parse_yaml("".join(writer.finish(Counter())))
        if entry.path not in _FIRST:
            digest = hashlib.sha256(entry.path.encode("utf-8")).hexdigest()
            body["metadata"]["name"] += f"-{digest[:8]}"
        self._target.write(resource, body)


def _check(field: str, name: str, problems: Callable[[str], list[str]]) -> None:
    """Raise InputError for a name that no API server has: it becomes part of a path."""
    if name and (faults := problems(name)):
        raise InputError(f"metadata.{field} '{name[:_SHOWN]}' {faults[0]}")


class ReportFolder:
    """Reports as files below a folder: `NAMESPACE/NAME.yaml`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, resource: Resource, report: Body) -> None:
        """Replace the file of a report in one step."""
        folder = self._place(resource)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / f"{report['metadata']['name']}.yaml") as file:
            file.write(dump_documents([report]).encode("utf-8"))

    def remove(self, resource: Resource) -> None:
        """Remove the files about an object."""
        for file in self._place(resource).glob("*.yaml"):
            scope = mapping_at(parse_yaml(file.read_text("utf-8")), "scope")
            if all(
                scope.get(key) == value
                for key, value in (("kind", resource.kind), ("name", resource.name))
            ):
                file.unlink(missing_ok=True)

    def _place(self, resource: Resource) -> Path:
        return self._folder / (resource.namespace or "_cluster")


class ClusterReports:
    """Reports as PolicyReports of a cluster; context: of the kubeconfig, None for the current
    one. Kubernetes deletes them with the objects that they are about."""

    def __init__(self, context: str | None) -> None:
        self._context = context
        self._cluster: Cluster | None = None

    def write(self, resource: Resource, report: Body) -> None:
        """Apply a report server-side; an object without a UID has none, as with Kyverno."""
        if not resource.uid:
            return
        if self._cluster is None:
            self._cluster = connect(self._context)
        name, namespace = report["metadata"]["name"], resource.namespace
        plural = "policyreports" if namespace else "clusterpolicyreports"
        path = object_path(WGPOLICY.version, plural, namespace, name)
        self._cluster.apply(path, report, MANAGER)

    def remove(self, resource: Resource) -> None:
        """Do nothing: a report goes with its owner."""
