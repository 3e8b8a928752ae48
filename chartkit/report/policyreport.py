"""PolicyReports (wgpolicyk8s.io/v1alpha2) and Reports (openreports.io/v1alpha1).

There is one for each namespace and one for the cluster, or one for each object. The fields are
those of the two APIs. Results have the sources that Kyverno's own controller writes: `kyverno`,
`KyvernoValidatingPolicy` and so on. A report for an object has the shape of those of Kyverno's
reports controller (`pkg/controllers/report/aggregate`).
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.model import Resource, RuleResult, Status, single_line
from chartkit.report.model import (
    INCOMPLETE,
    KYVERNO,
    NONE_ACCEPTED,
    Accepted,
    ReportOptions,
    ReportPer,
    ResultCache,
    field_places,
    summary,
)
from chartkit.report.spool import SortedSpool, Spool, SpoolPart


@dataclass(frozen=True, slots=True)
class ReportApi:
    """One API for reports: its version, its kinds for a namespace and for the cluster, and whether
    a report names its source."""

    version: str
    namespaced: str
    cluster: str
    has_source: bool


WGPOLICY: Final = ReportApi(
    "wgpolicyk8s.io/v1alpha2", "PolicyReport", "ClusterPolicyReport", has_source=False
)
OPENREPORTS: Final = ReportApi(
    "openreports.io/v1alpha1", "Report", "ClusterReport", has_source=True
)


_SIMPLE_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,99}")
_NO_RESULTS: Final = "# no results\n"
_SEPARATOR: Final = "---\n"
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_IDENTITIES: Final = uuid.UUID("b0c3a4a4-6d0c-5c0e-9a52-3d5f3a1c7e10")


class ResultRows:
    """The items of `results`, as YAML at the first column."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._time = int(options.now.timestamp())
        self._known = ResultCache(self._parts)

    def text(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted,
        subject: str = "",
    ) -> str:
        """Return items for an object's results; subject: their `resources`, or empty."""
        rows: list[str] = []
        for position, result in enumerate(results):
            if is_left_out(result):
                continue
            head, tail = self._known(result)
            rows += (head, subject, tail)
            if result.properties or result.fields or position in accepted:
                acceptance = accepted.get(position)
                # The most telling field of a failure with its place, and why it fails no run.
                properties: dict[str, str] = {}
                if result.fields:
                    first = field_places(resource, result, 1)[0]
                    properties = first.members
                if acceptance is not None:
                    properties["accepted"] = str(acceptance)
                rows.append(_properties({**properties, **result.properties}))
        return "".join(rows)

    def sort_key(self, result: RuleResult) -> tuple[str, str, str]:
        """Return the order of Kyverno's reports: by policy, rule and source."""
        return result.policy, result.rule, self._options.facts(result).source

    def _parts(self, result: RuleResult) -> tuple[str, str]:
        """Return an item's text before and after its resources."""
        facts = self._options.facts(result)
        rule = f"  rule: {dump_text(result.rule, 2)}\n" if result.rule else ""
        optional = {"severity": facts.severity, "category": facts.category}
        return (
            f"- source: {dump_text(facts.source, 2)}\n"
            f"  policy: {dump_text(result.policy, 2)}\n{rule}"
            f"  result: {result.status}\n"
            f"  message: {dump_text(result.message, 2)}\n"
            f"  scored: {'true' if facts.scored else 'false'}\n",
            f"  timestamp:\n    seconds: {self._time}\n    nanos: 0\n"
            + _members({key: value for key, value in optional.items() if value}, 2),
        )


def is_left_out(result: RuleResult) -> bool:
    """Report whether Kyverno's reports leave a result out: the skip of a policy in CEL whose match
    conditions do not hold (`pkg/controllers/report/utils`, `filterMatchConditionSkips`)."""
    is_skip = bool(result.kind) and result.status is Status.SKIP
    return is_skip and not result.rule and result.message == "skip"


class NamespaceReportWriter:
    """A stream of YAML documents: a report for the cluster, then one a namespace, sorted."""

    def __init__(self, options: ReportOptions, api: ReportApi) -> None:
        self._api = api
        self._options = options
        self._rows = ResultRows(options)
        self._texts: SortedSpool[str] = SortedSpool()
        self._counts: dict[str, Counter[Status]] = {}

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Take one resource's results."""
        if all(map(is_left_out, results)):
            return
        subject = _members(_reference(resource), 4).replace("    ", "  - ", 1)
        subject = f"  resources:\n{subject}" if subject else ""
        self._texts.write(resource.namespace, self._rows.text(resource, results, accepted, subject))
        counts = self._counts.setdefault(resource.namespace, Counter())
        counts.update([result.status for result in results if not is_left_out(result)])

    def part(self) -> tuple[SpoolPart[str], dict[str, Counter[Status]]]:
        counts, self._counts = self._counts, {}
        return self._texts.part(), counts

    def append(self, part: tuple[SpoolPart[str], dict[str, Counter[Status]]]) -> None:
        texts, by_namespace = part
        self._texts.append(texts)
        for namespace, counts in by_namespace.items():
            self._counts.setdefault(namespace, Counter()).update(counts)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - each counts its own
        if not self._counts:
            yield _NO_RESULTS
        for number, namespace in enumerate(sorted(self._counts)):
            where = {"namespace": namespace} if namespace else {}
            yield _SEPARATOR if number else ""
            yield _head(self._api, namespace) + _metadata({"name": "chartkit", **where})
            yield _middle(self._api, self._counts[namespace])
            yield from self._texts.pieces(namespace)
        yield _end(self._options)


class ObjectReportWriter:
    """A stream of YAML documents, with a report for each object that has results, in their order.

    A report is named after the object's UID, as Kyverno's reports controller does. An object that
    is not from a cluster gets a UID derived from its identity, and its report has no owner.
    """

    def __init__(self, options: ReportOptions, api: ReportApi) -> None:
        self._api = api
        self._options = options
        self._rows = ResultRows(options)
        self._spool = Spool()

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Take one resource's results."""
        if all(map(is_left_out, results)):
            return
        counts = Counter([result.status for result in results if not is_left_out(result)])
        order = sorted(range(len(results)), key=lambda index: self._rows.sort_key(results[index]))
        moved = {new: accepted[old] for new, old in enumerate(order) if old in accepted}
        results = [results[index] for index in order]
        uid, reference = resource.uid, _reference(resource)
        identity = "/".join(reference.values()) if resource.name else str(resource.location)
        name = uid or str(uuid.uuid5(_IDENTITIES, identity))
        where = {"namespace": resource.namespace} if resource.namespace else {}
        text = _metadata({"name": name, **where}) + f"  labels:\n    {_MANAGED_BY}: {KYVERNO}\n"
        if uid:
            owner = {key: value for key, value in reference.items() if key != "namespace"}
            members = _members({**owner, "uid": uid}, 4).replace("    ", "  - ", 1)
            text += f"  ownerReferences:\n{members}"
        if reference:
            text += "scope:\n" + _members({**reference, **({"uid": uid} if uid else {})}, 2)
        self._spool.write(
            _SEPARATOR
            + _head(self._api, resource.namespace)
            + text
            + _middle(self._api, counts)
            + self._rows.text(resource, results, moved)
        )

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - each counts its own
        if not self._spool.size:
            yield _NO_RESULTS
        yield from self._spool.pieces(start=len(_SEPARATOR))
        yield _end(self._options)


def policy_report_writer(
    options: ReportOptions, api: ReportApi = WGPOLICY
) -> NamespaceReportWriter | ObjectReportWriter:
    """Return the writer of an API's reports, one for each namespace or object."""
    make = NamespaceReportWriter if options.per is ReportPer.NAMESPACE else ObjectReportWriter
    return make(options, api)


def open_report_writer(options: ReportOptions) -> NamespaceReportWriter | ObjectReportWriter:
    """Return the writer of reports of openreports.io."""
    return policy_report_writer(options, OPENREPORTS)


def _end(options: ReportOptions) -> str:
    course = options.course
    unread = "".join(f"# {single_line(str(row))}\n" for row in course.unread)
    return f"{unread}# {INCOMPLETE}\n" if course.is_incomplete else unread


def _head(api: ReportApi, namespace: str) -> str:
    return f"apiVersion: {api.version}\nkind: {api.namespaced if namespace else api.cluster}\n"


def _metadata(members: Mapping[str, str]) -> str:
    return f"metadata:\n{_members(members, 2)}"


def _middle(api: ReportApi, counts: Counter[Status]) -> str:
    """Return the part between a report's metadata and its results."""
    totals = "".join(f"  {status}: {count}\n" for status, count in summary(counts).items())
    source = f"source: {KYVERNO}\n" if api.has_source else ""
    return f"{source}summary:\n{totals}results:\n"


def _reference(resource: Resource) -> dict[str, str]:
    subject = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": resource.name,
        "namespace": resource.namespace,
    }
    return {key: value for key, value in subject.items() if value}


def _members(members: Mapping[str, str], indent: int) -> str:
    edge = " " * indent
    return "".join(f"{edge}{key}: {dump_text(value, indent)}\n" for key, value in members.items())


def _properties(properties: Mapping[str, str]) -> str:
    if all(map(_SIMPLE_KEY.fullmatch, properties)):
        named = {dump_text(key): value for key, value in properties.items()}
        return f"  properties:\n{_members(named, 4)}"
    written = dump_yaml({"": {"properties": dict(properties)}})
    return written.removeprefix("'':\n").removesuffix("...\n")
