"""The report for people: each resource with its findings, failures last, then a table of what
failed how often, and the totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Final

import click

from chartkit.model import Resource, RuleResult, Status, single_line
from chartkit.report.model import (
    INCOMPLETE,
    NONE_ACCEPTED,
    SEVERITIES,
    Accepted,
    AcceptedAs,
    PolicyFacts,
    ReportOptions,
    ResultCache,
    field_places,
    places_of,
    resource_id,
    rule_id,
)
from chartkit.report.spool import Spool
from chartkit.report.text.layout import fold, table
from chartkit.safe_text import shown, shown_lines

_COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.WARN: "yellow",
    Status.ERROR: "magenta",
    Status.SKIP: "cyan",
}
_MOST_BUILT: Final = 1_000
"""The objects of kustomizations that wait for others with the same lines, at most."""
_SHOWN = frozenset({Status.FAIL, Status.WARN, Status.ERROR})
_FAILING = frozenset({Status.FAIL, Status.ERROR})
PLACES: Final = 3
"""The most places that are shown of a failure; `detailed` and other formats have all."""
_Part = tuple[bytes, bytes, dict[str, bytes], "Totals", Counter[AcceptedAs]]
_HEADS: Final = {Status.FAIL: "FAILS", Status.ERROR: "ERRORS", Status.WARN: "WARNINGS"}
_NONE: Final = "-"


class TextWriter:
    """A report of failures, warnings and errors; with `detailed`, of every result. Known violations
    are only counted, suppressed ones are listed with their reason."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._failing, self._others = Spool(), Spool()
        self._totals = Totals()
        self._made: dict[str, Spool] = {}
        self._accepted: Counter[AcceptedAs] = Counter()
        self._shown = _FAILING if options.quiet else _SHOWN
        self._known = ResultCache(self._parts)
        self._built: dict[tuple[str, ...], list[Resource]] = {}

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results."""
        for result in results:
            if result.generated or result.updated or result.unmade:
                by = f"by {shown(rule_id(result))} for {shown(resource_id(resource))}"
                for head, bodies in (
                    ("would be generated:", result.generated),
                    ("would be overwritten:", result.updated),
                ):
                    for body in bodies:
                        self._note(head, f"{shown(resource_id(Resource(body)))} {by}")
                if result.unmade:
                    self._note("nothing would come of it:", f"{by}: {single_line(result.unmade)}")
        self._accepted.update(acceptance.state for acceptance in accepted.values())
        lines: list[str] = []
        failures: list[tuple[RuleResult, PolicyFacts]] = []
        for position, result in enumerate(results):
            acceptance = accepted.get(position)
            is_found = result.status in self._shown and acceptance is None
            if is_found:
                failures.append((result, self._options.facts(result)))
            if is_found or self._options.detailed:
                rule, severity, message = self._known(result)
                action = self._options.action(resource, result)
                about = f"{action}, {severity}" if action and severity else action or severity
                lines += [f"{rule} ({about})", *message]
                places = _place_lines(resource, result, self._options.detailed)
                lines += [f"        {line}" for line in places]
                if result.why:
                    first, *below = result.why
                    lines += [f"        why: {first}", *(f"        {line}" for line in below)]
                if acceptance is not None:
                    lines.append(f"        {shown(str(acceptance))}")
            elif acceptance is not None and (
                acceptance.state is AcceptedAs.SUPPRESSED and (not self._options.quiet)
            ):
                lines.append(f"  {shown(rule_id(result))} {shown(str(acceptance))}")
        if not lines:
            return
        self._totals.add(failures)
        is_failing = any(result.status in _FAILING for result, _ in failures)
        if resource.location.overlay:
            key = (str(resource.location), "failing" if is_failing else "", *lines)
            self._built.setdefault(key, []).append(resource)
            if len(self._built) >= _MOST_BUILT:
                self._write_built()
        else:
            self._write([resource], lines, is_failing)

    def _write(self, alike: Sequence[Resource], lines: Sequence[str], is_failing: bool) -> None:
        """Write the lines about an object, or about one of a base as several overlays build it."""
        location = str(alike[0].location)
        first = ", ".join(dict.fromkeys(shown(resource_id(item)) for item in alike))
        head = [click.style(first, bold=True) if self._options.colour else first]
        head += [location] if location != first else []
        if len(alike) > 1:
            head.append(f"({', '.join(shown(item.location.overlay) for item in alike)})")
        spool = self._failing if is_failing else self._others
        spool.write(fold("\n".join(["  ".join(head), *lines, "", ""]), self._options.width))

    def _write_built(self) -> None:
        for (_, failing, *lines), alike in self._built.items():
            self._write(alike, lines, bool(failing))
        self._built.clear()

    def part(self) -> _Part:
        self._write_built()
        made = {head: lines.part() for head, lines in self._made.items()}
        part = self._failing.part(), self._others.part(), made, self._totals, self._accepted
        self._made, self._totals, self._accepted = {}, Totals(), Counter()
        return part

    def append(self, part: _Part) -> None:
        failing, others, made, totals, accepted = part
        self._failing.append(failing)
        self._others.append(others)
        for head, lines in made.items():
            self._made.setdefault(head, Spool()).append(lines)
        self._totals.merge(totals)
        self._accepted.update(accepted)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        self._write_built()
        if not self._options.quiet:
            for head, lines in self._made.items():
                yield f"{head}\n"
                yield from lines.pieces()
                yield "\n"
        yield from self._others.pieces()
        yield from self._failing.pieces()
        if self._options.quiet:
            return
        if table := self._totals.lines(self._options.width):
            yield "\n".join([*table, "", ""])
        totals = ", ".join(f"{status}: {counts[status]}" for status in Status)
        accepted = ", ".join(f"{state}: {count}" for state, count in self._accepted.items())
        parts = [totals, *filter(None, (accepted,))]
        parts += [INCOMPLETE] if self._options.course.is_incomplete else []
        yield fold(f"{'; '.join(parts)}\n", self._options.width)

    def _note(self, head: str, line: str) -> None:
        self._made.setdefault(head, Spool()).write(fold(f"  {line}\n", self._options.width))

    def _parts(self, result: RuleResult) -> tuple[str, str, list[str]]:
        """Return the status with the rule, the severity, and the lines of the message."""
        severity = shown(self._options.facts(result).severity)
        message = result.message or "(no message)"
        if result.fields:
            # Where each alternative of a pattern failed is listed below, by place.
            tail = rf" rule {re.escape(result.rule)}\[\d+\] failed at path .*"
            message = re.sub(tail, "", message, flags=re.DOTALL)
        hint = None
        if result.status is Status.ERROR:
            hint = self._options.advice(message)
            message = single_line(message)
        text = shown_lines(message) + ([f"→ {shown(hint)}"] if hint else [])
        rule = f"  {self._status(result.status)} {shown(rule_id(result))}"
        return rule, severity, [f"        {line}" for line in text]

    def _status(self, status: Status) -> str:
        text = f"{status:<5}"
        return click.style(text, fg=_COLOURS[status]) if self._options.colour else text


def _place_lines(resource: Resource, result: RuleResult, lists_all: bool) -> list[str]:
    """Return a line for each place of a failure; lists_all: not only the first few of them, and
    those that a message which names the first does not name."""
    if not result.fields:
        return []
    if lists_all:
        return [shown(str(row)) for row in field_places(resource, result)]
    is_named = _named(result.message, result.fields)
    named = compress(result.fields[:PLACES], is_named)
    lines = [shown(str(row)) for row in places_of(resource, named)]
    more = sum(is_named[PLACES:])
    return [*lines, f"and {more} more field{'s' if more > 1 else ''}"] if more > 0 else lines


@lru_cache(maxsize=1024)
def _named(message: str, pointers: tuple[str, ...]) -> Sequence[bool]:
    """Report of each field whether a message names its key, elsewhere than in the path at which a
    rule failed; of each that it does where the message does not name the first."""
    keys = [
        next((step for step in reversed(pointer.split("/")) if not step.isdecimal()), "")
        for pointer in pointers
    ]
    is_named = [
        re.search(rf"(?<![\w/]){re.escape(key)}(?![\w/])", message) is not None for key in keys
    ]
    return is_named if is_named[0] else [True] * len(keys)


class Totals:
    """The failures, errors and warnings of each policy, and the objects that have them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._severities: dict[str, str] = {}
        self._counts: dict[str, Counter[Status]] = {}
        self._objects: Counter[str] = Counter()

    def add(self, results: Sequence[tuple[RuleResult, PolicyFacts]]) -> None:
        """Add what an object has."""
        for result, facts in results:
            policy = result.policy_id
            self._names[policy], self._severities[policy] = result.policy, facts.severity
            self._counts.setdefault(policy, Counter())[result.status] += 1
        self._objects.update({result.policy_id for result, _ in results})

    def merge(self, other: Totals) -> None:
        """Add what other objects have."""
        self._names.update(other._names)
        self._severities.update(other._severities)
        for policy, counts in other._counts.items():
            self._counts.setdefault(policy, Counter()).update(counts)
        self._objects.update(other._objects)

    def lines(self, width: int | None) -> list[str]:
        """Return a row for each policy, the worst last; none for a single finding. Of policies
        with one name, those whose rules are CEL have their kind before it."""
        sums: Counter[Status] = sum(self._counts.values(), Counter())
        if sums.total() < 2:
            return []
        statuses = [status for status in _HEADS if sums[status] or status is Status.FAIL]
        names = Counter(self._names.values())
        heads = ["POLICY", "SEVERITY", *(_HEADS[status] for status in statuses), "OBJECTS"]
        rows = [
            [
                shown(self._names[policy] if names[self._names[policy]] == 1 else policy),
                shown(self._severities[policy]) or _NONE,
                *(str(counts[status]) for status in statuses),
                str(self._objects[policy]),
            ]
            for policy, counts in sorted(self._counts.items(), key=lambda item: self._rank(*item))
        ]
        return table([heads, *rows], width)

    def _rank(self, policy: str, counts: Counter[Status]) -> tuple[bool, int, int, str]:
        """Return the place of a policy: what does not fail first, the gravest last."""
        severity = self._severities[policy]
        rank = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
        fails = counts[Status.FAIL] + counts[Status.ERROR]
        return fails > 0, -rank, fails, self._names[policy]
