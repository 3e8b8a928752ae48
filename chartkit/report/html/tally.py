"""The counts of an HTML report: by policy, severity, category, control, namespace and owner."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.model import Resource, mapping_at
from chartkit.report.finding import Finding, FindingRule
from chartkit.report.model import SEVERITIES, PolicyFacts
from chartkit.safe_text import shown

_NONE: Final = "none given"
LEGEND: Final = (*SEVERITIES, _NONE)
"""The names of severities in pictures, in the order of their colours."""
_CLUSTER: Final = "(cluster)"
_COLUMNS: Final = 12
"""The most columns of the table of namespaces; the others are counted together."""
_OTHERS: Final = "others"


@dataclass(slots=True)
class RuleTally:
    """A rule and its open findings. objects: how many by status; by_place: by environment, or
    namespace where there is but one; accepted: known and suppressed findings."""

    rule: FindingRule
    statuses: Counter[str] = field(default_factory=Counter)
    by_place: Counter[str] = field(default_factory=Counter)
    accepted: int = 0

    @property
    def total(self) -> int:
        """The number of open findings."""
        return self.statuses.total()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of counts: its title, the heading of its first column, and its rows."""

    title: str
    heading: str
    rows: Sequence[tuple[str, int]]

    @property
    def most(self) -> int:
        """The greatest count."""
        return max(count for _, count in self.rows)


@dataclass(frozen=True, slots=True)
class ControlTally:
    """A control of a standard: the number of policies for it, and of objects that fail one."""

    name: str
    policies: int
    objects: int


class Tally:
    """Counts that grow while findings come; known and suppressed ones are counted apart."""

    def __init__(self, owner_label: str = "") -> None:
        self.rules: dict[tuple[str, str], RuleTally] = {}
        self.accepted: Counter[str] = Counter()
        self.environments: set[str] = set()
        self.kinds: set[str] = set()
        self.states: dict[str, None] = {}
        self.all_places: set[str] = set()
        self.objects = 0
        self._last: object = None
        self._owner_label = owner_label
        self._owners: Counter[str] = Counter()
        self._in_control: Counter[str] = Counter()
        self._last_of: dict[str, object] = {}

    def add(self, finding: Finding) -> RuleTally:
        """Count a finding; return the counts of its rule."""
        rule = finding.rule
        tally = self.rules.setdefault((rule.kind, rule.id), RuleTally(rule))
        self.environments.add(finding.environment)
        self.kinds.add(finding.resource.kind if finding.resource else "")
        self.states[str(finding.acceptance.state) if finding.acceptance else finding.result] = None
        self.all_places.add(place_of(finding))
        if finding.acceptance is not None:
            self.accepted[str(finding.acceptance.state)] += 1
            tally.accepted += 1
            return tally
        if finding.resource is not self._last or finding.resource is None:
            self.objects += 1
            self._last = finding.resource
        for control in rule.controls:
            if finding.resource is None or self._last_of.get(control) is not finding.resource:
                self._in_control[control] += 1
                self._last_of[control] = finding.resource
        tally.statuses[finding.result] += 1
        tally.by_place[place_of(finding)] += 1
        if self._owner_label:
            self._owners[owner_of(finding, self._owner_label)] += 1
        return tally

    def settled(self) -> Tally:
        """Return these counts for another process; no more findings come."""
        self._last, self._last_of = None, {}
        return self

    def merge(self, other: Tally) -> None:
        """Add the counts of further findings, of other objects."""
        for key, rule_tally in other.rules.items():
            tally = self.rules.setdefault(key, RuleTally(rule_tally.rule))
            tally.statuses.update(rule_tally.statuses)
            tally.by_place.update(rule_tally.by_place)
            tally.accepted += rule_tally.accepted
        self.objects += other.objects
        self.states.update(other.states)
        self.environments |= other.environments
        self.kinds |= other.kinds
        self.all_places |= other.all_places
        self.accepted.update(other.accepted)
        self._owners.update(other._owners)
        self._in_control.update(other._in_control)

    @property
    def in_order(self) -> list[RuleTally]:
        """The rules, those of the highest severity and with the most findings first."""
        return sorted(
            self.rules.values(),
            key=lambda tally: (_rank(tally.rule.severity), -tally.total, tally.rule.id),
        )

    @property
    def places(self) -> list[str]:
        """The environments or namespaces with findings; those with the most, and the others."""
        counts: Counter[str] = Counter()
        for tally in self.rules.values():
            counts.update(tally.by_place)
        names = sorted(counts)
        if len(names) <= _COLUMNS:
            return names
        most = [name for name, _ in counts.most_common(_COLUMNS - 1)]
        return [*sorted(most), _OTHERS]

    def in_places(self, tally: RuleTally) -> list[int]:
        """Return a rule's findings in each of the places."""
        places = self.places
        if places[-1:] != [_OTHERS]:
            return [tally.by_place[name] for name in places]
        counts = [tally.by_place[name] for name in places[:-1]]
        return [*counts, tally.total - sum(counts)]

    def by_severity(self) -> dict[str, int]:
        """Return the number of findings of each severity, zeros as well."""
        counts = dict.fromkeys(LEGEND, 0)
        for tally in self.rules.values():
            counts[_named(tally.rule.severity)] += tally.total
        return counts

    def in_severities(self) -> dict[str, list[int]]:
        """Return for each place the number of findings of each severity."""
        rows = {name: dict.fromkeys(LEGEND, 0) for name in self.places}
        for tally in self.rules.values():
            for name, count in zip(rows, self.in_places(tally), strict=True):
                rows[name][_named(tally.rule.severity)] += count
        return {shown(name): list(counts.values()) for name, counts in rows.items()}

    def tables(self) -> list[Table]:
        """Return the tables by severity, category and owner; none that is empty."""
        rules = self.rules.values()
        severities = _counted((tally.rule.severity or _NONE, tally.total) for tally in rules)
        tables = [
            Table("By severity", "Severity", sorted(severities, key=lambda row: _rank(row[0]))),
            Table(
                "By category",
                "Category",
                _most_first((tally.rule.category or _NONE, tally.total) for tally in rules),
            ),
            Table(f"By {self._owner_label}", "Owner", _most_first(self._owners.items())),
        ]
        return [table for table in tables if table.rows]

    def controls(self, facts: Iterable[PolicyFacts]) -> list[ControlTally]:
        """Return the controls of standards that policies cover, those that nothing violates as
        well; facts: of all policies that ran."""
        policies: dict[str, set[str]] = {}
        covering = [(policy_facts.name, policy_facts.controls) for policy_facts in facts]
        covering += [(tally.rule.policy, tally.rule.controls) for tally in self.rules.values()]
        for name, controls in covering:
            for control in controls:
                policies.setdefault(control, set()).add(name)
        return [
            ControlTally(name, len(policies[name]), self._in_control[name])
            for name in sorted(policies, key=_numbered)
        ]


def place_of(finding: Finding) -> str:
    """Return a finding's environment, or else the namespace of its object."""
    if finding.environment:
        return finding.environment
    return (finding.resource.namespace if finding.resource else "") or _CLUSTER


def owner_of(finding: Finding, label: str) -> str:
    """Return the value of a label of a finding's object."""
    resource: Resource | None = finding.resource
    labels: Mapping[str, object] = (
        mapping_at(resource.body, "metadata", "labels") if resource else {}
    )
    value = labels.get(label)
    return value if isinstance(value, str) and value else _NONE


def _named(severity: str) -> str:
    return severity if severity in SEVERITIES else _NONE


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _numbered(control: str) -> list[tuple[int, str]]:
    """Return the key that sorts `CIS 5.2.10` after `CIS 5.2.9`."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", control)]


def _counted(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for name, count in pairs:
        counts[name] += count
    return [(name, count) for name, count in counts.items() if count]


def _most_first(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(_counted(pairs), key=lambda row: (-row[1], row[0]))
