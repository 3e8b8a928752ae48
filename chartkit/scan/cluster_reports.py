"""A comparison of the cluster's policy reports with chartkit's results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chartkit.model import (
    Body,
    Resource,
    RuleResult,
    RuleType,
    Status,
    mapping_at,
    mappings_at,
    text_of,
)
from chartkit.network.cluster.reader import ApiResource, Reader
from chartkit.report import ReportOptions
from chartkit.scan.verdicts import ReportedForms
from chartkit.wording import abridged, counted

_KINDS: Final = (
    ("wgpolicyk8s.io", "PolicyReport"),
    ("wgpolicyk8s.io", "ClusterPolicyReport"),
    ("openreports.io", "Report"),
    ("openreports.io", "ClusterReport"),
)
_REPORTED: Final = (RuleType.VALIDATION, RuleType.IMAGE_VERIFY)
"""The rule types that Kyverno's background scan reports."""
_NONE: Final = "none"
_SHOWN: Final = 5


class _Object(NamedTuple):
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class _RuleKey(NamedTuple):
    """A rule as reports identify it; source: `kyverno`, `KyvernoValidatingPolicy` …"""

    source: str
    policy: str
    rule: str


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One result that differs; `none` for a side without a result."""

    policy: str
    rule: str
    resource: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        rule = f"{self.policy}/{self.rule}" if self.rule else self.policy
        return f"{rule}  {self.resource}  theirs: {self.theirs}  ours: {self.ours}"


class Comparison:
    """A comparison that reads the cluster's reports first, then takes chartkit's results.

    It compares objects that both sides report, for policies that both know. What only one side has
    is counted: Kyverno does not report what its `resourceFilters` exclude, nor what it has not
    scanned yet.
    """

    def __init__(self, reader: Reader, options: ReportOptions) -> None:
        """options: they carry the facts of the policies that chartkit runs."""
        self._options = options
        self._known = {(facts.source, facts.name) for facts in options.policies.values()}
        self._reported: set[tuple[str, str]] = set()
        self._theirs: dict[_Object, dict[_RuleKey, str]] = {}
        self._differences: list[Difference] = []
        self._forms = ReportedForms()
        self._equal = 0
        self._in_no_report = 0
        # Each kind of reports in the version that the server prefers.
        found: dict[tuple[str, str], ApiResource] = {}
        for served in reader.discovery.all:
            group, _, kind = served.kind
            if (group, kind) in _KINDS:
                found.setdefault((group, kind), served)
        kinds = list(found.values())
        self._is_served = bool(kinds)
        for served in kinds:
            for report in reader.objects(served):
                self._take(report.body)

    @property
    def differences(self) -> list[Difference]:
        """The differences, by policy, rule and object."""
        return sorted(self._differences)

    @property
    def differs(self) -> bool:
        """Report whether a result differs, or what both forms of a policy reported."""
        return bool(self._differences) or self._forms.differ

    def _take(self, report: Body) -> None:
        scope = mapping_at(report, "scope")
        for result in mappings_at(report, "results"):
            source = text_of(result.get("source")) or text_of(report.get("source"))
            said = _RuleKey(source, text_of(result.get("policy")), text_of(result.get("rule")))
            status = text_of(result.get("result"))
            known = said[:2] in self._known
            if known:
                self._reported.add((said.source, said.policy))
            for subject in mappings_at(result, "resources") or [scope]:
                there = _Object(*(text_of(subject.get(key)) for key in _Object._fields))
                self._forms.add(source, said.policy, said.rule, str(there), status)
                if known:
                    self._theirs.setdefault(there, {})[said] = status

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add chartkit's results for one object."""
        own = _Object(resource.kind, resource.namespace, resource.name)
        theirs = self._theirs.pop(own, None)
        if theirs is None:
            self._in_no_report += bool(results)
            return
        for result in results:
            source = self._options.facts(result).source
            said = _RuleKey(source, result.policy, result.rule)
            found = theirs.pop(said, None)
            if found is not None:
                self._compare(said, own, found, str(result.status))
            elif (source, result.policy) in self._reported and _is_reported(result):
                self._compare(said, own, _NONE, str(result.status))
        for said, found in theirs.items():
            self._compare(said, own, found, _NONE)

    def _compare(self, said: _RuleKey, own: _Object, theirs: str, ours: str) -> None:
        if theirs == ours:
            self._equal += 1
        else:
            self._differences.append(Difference(said.policy, said.rule, str(own), theirs, ours))

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text, with a line for each difference."""
        if not self._is_served:
            yield "reports: the cluster serves none"
            return
        differences = self.differences
        same = counted(self._equal, "result is", "results are")
        yield f"reports: {same} the same, {len(differences)} differ"
        yield from (f"  {difference}" for difference in differences)
        if self._in_no_report:
            yield f"  objects in no report: {self._in_no_report}"
        if self._theirs:
            yield f"  objects only in reports: {abridged(list(map(str, self._theirs)), _SHOWN)}"
        unnamed = sorted(policy for source, policy in self._known - self._reported)
        if unnamed:
            yield f"  policies that no report names: {abridged(unnamed, _SHOWN)}"
        yield from self._forms.lines()


def _is_reported(result: RuleResult) -> bool:
    """Report whether Kyverno's reports have a result; CEL policies have none for an object that a
    match condition excludes."""
    if result.kind and result.status is Status.SKIP and "exceptions" not in result.properties:
        return False
    return result.type in _REPORTED
