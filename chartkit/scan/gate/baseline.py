"""The baseline: a file of known violations, which do not fail a run, and its text when it is
updated.

Its format is `schemas/files/baseline.schema.json`. It names no lines, so that it stays true where
files change. Comments and entries that have not changed stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import is_there
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.yaml_dump import dump_text
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Severity
from chartkit.output.yaml_tree import Block, Entry, Leaf, Tree, write_tree
from chartkit.output.yaml_tree_reader import read_tree
from chartkit.report.files import write_over, write_whole
from chartkit.scan.gate import GateOptions
from chartkit.scan.gate.violation import Violation

EXPIRED: Final = "CK603"
STALE: Final = "CK602"
_LISTED: Final = 20
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
SCHEMA: Final = "baseline.schema.json"
API_VERSION: Final = "chartkit.dev/v1"
KIND: Final = "Baseline"
_LIST: Final = "violations"
_NEW: Final = f"""\
# Known violations, which do not fail a run. `chartkit scan --baseline FILE --update-baseline`
# writes this file; reason, until and comments stay.
apiVersion: {API_VERSION}
kind: {KIND}
{_LIST}: []
"""


def parse_date(text: str, location: Location) -> date:
    """Return the day that a text such as `2027-01-31` names; raise InputError."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InputError(f"'{text}' is not a day", location, "write it as 2027-01-31")


@dataclass(frozen=True, slots=True)
class KnownViolation:
    """An entry of a baseline. count: of objects with this identity that violate the rule; until:
    the last day on which it is accepted; index: its position in the file, -1 for a new one."""

    violation: Violation
    count: int = 1
    reason: str = ""
    until: date | None = None
    index: int = -1


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a baseline in the file's order; document: None where there is no file yet."""

    path: Path
    entries: tuple[KnownViolation, ...] = ()
    document: Document | None = field(default=None, repr=False, compare=False)

    def locate(self, entry: KnownViolation) -> Location:
        """Return the location of an entry."""
        if self.document is None or entry.index < 0:
            return Location(str(self.path))
        return self.document.locate("violations", entry.index)


def open_baseline(options: GateOptions, today: date) -> BaselineMatcher | None:
    """Return the comparison with the baseline that the options name, None if they name none; one
    that is to be updated need not be there. Raise InputError."""
    path = options.baseline
    if path is None:
        return None
    if not is_there(path):
        if not options.update_baseline:
            hint = "--update-baseline writes it"
            raise InputError("there is no baseline", Location(str(path)), hint)
        return BaselineMatcher(Baseline(path), today, updates=True)
    return BaselineMatcher(read_baseline(path), today, options.update_baseline)


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raise InputError for an invalid file."""
    return parse_baseline(read_file(path), path)


def parse_baseline(documents: Sequence[Document], path: Path) -> Baseline:
    """Return the baseline in a file's documents; raise InputError."""
    from chartkit.schemas import json_schema

    if len(documents) != 1:
        raise InputError("a baseline is one YAML document", Location(str(path)))
    document = documents[0]
    json_schema.require(document, json_schema.load(SCHEMA))
    entries: list[KnownViolation] = []
    for index, body in enumerate(document.body["violations"]):
        until = None
        if "until" in body:
            until = parse_date(body["until"], document.locate("violations", index, "until"))
        rule, field = body.get("rule", ""), body.get("field", "")
        violation = Violation(body["policy"], rule, body["object"], field, "result" in body)
        count, reason = body.get("count", 1), body.get("reason", "")
        entries.append(KnownViolation(violation, count, reason, until, index))
    baseline = Baseline(path, tuple(entries), document)
    first: dict[Violation, KnownViolation] = {}
    for entry in baseline.entries:
        other = first.setdefault(entry.violation, entry)
        if other is not entry:
            hint = f"the other is at {baseline.locate(other)}; write the number as 'count'"
            raise InputError(f"{entry.violation} is here twice", baseline.locate(entry), hint)
    return baseline


class BaselineMatcher:
    """A comparison of violations with a baseline, one by one."""

    def __init__(self, baseline: Baseline, today: date, updates: bool = False) -> None:
        """updates: whether the baseline is written anew afterwards, so that all violations are
        known."""
        self.baseline = baseline
        self._today = today
        self.updates = updates
        self._entries = {entry.violation: entry for entry in baseline.entries}
        self._used: Counter[Violation] = Counter()
        self._new: Counter[Violation] = Counter()

    def match(self, violations: Sequence[Violation]) -> KnownViolation | None:
        """Return the entry that accepts violations of one result, the first of several; None if
        any of them is not known, or no longer accepted."""
        known_violations = [self._covering(violation) for violation in violations]
        for violation, entry in zip(violations, known_violations, strict=True):
            if entry is None:
                self._new[violation] += 1
        entries = {entry.violation: entry for entry in known_violations if entry is not None}
        self._used.update(entries.keys())
        if any(map(self.is_expired, entries.values())):
            return None
        if self.updates and None in known_violations:
            return KnownViolation(violations[0])
        return known_violations[0] if None not in known_violations else None

    def is_expired(self, entry: KnownViolation) -> bool:
        """Report whether an entry accepted violations until a day that is over."""
        return entry.until is not None and entry.until < self._today

    def expired(self) -> Iterator[KnownViolation]:
        """Yield the entries that violations match and that no longer accept them."""
        return (
            violation
            for violation in self._entries.values()
            if self._used[violation.violation] and self.is_expired(violation)
        )

    def stale(self, looked_at: Callable[[Violation], bool]) -> Iterator[tuple[KnownViolation, int]]:
        """Yield the entries that are not needed any more, each with the number of its violations
        that are left; looked_at: whether the run would have found a violation."""
        for violation in self._entries.values():
            left = self._used[violation.violation]
            if left < violation.count and looked_at(violation.violation):
                yield violation, left

    def updated(self, looked_at: Callable[[Violation], bool]) -> list[KnownViolation]:
        """The entries of the updated baseline, sorted. Those that the run did not look at stay."""
        kept = [
            replace(entry, count=self._used[entry.violation])
            if looked_at(entry.violation)
            else entry
            for entry in self._entries.values()
            if self._used[entry.violation] or not looked_at(entry.violation)
        ]
        new = [KnownViolation(violation, count) for violation, count in self._new.items()]
        return sorted((*kept, *new), key=lambda known_violation: known_violation.violation)

    def _covering(self, violation: Violation) -> KnownViolation | None:
        """Return the entry for a violation that has room for one more."""
        for wanted in (violation, replace(violation, field="")):
            entry = self._entries.get(wanted)
            if entry is not None and (self.updates or self._used[wanted] < entry.count):
                return entry
        return None


def baseline_text(baseline: Baseline, entries: Sequence[KnownViolation]) -> str:
    """Return the text of a baseline with other entries. Those that have not changed keep their
    text, and all of them their comments, unless the file has anchors or braces around it."""
    if baseline.document is not None:
        with suppress(InputError):
            tree = read_tree(baseline.document)
            text = _text(tree, baseline, entries) if tree.root.entries[0].line else ""
            written = parse_baseline(read_text(text), Path()).entries
            if [replace(entry, index=-1) for entry in written] == [
                replace(entry, index=-1) for entry in entries
            ]:
                return text
    (document,) = read_text(_NEW)
    return _text(read_tree(document), replace(baseline, entries=()), entries)


def _text(tree: Tree, baseline: Baseline, entries: Sequence[KnownViolation]) -> str:
    violations = tree.find((_LIST,))
    assert violations is not None
    block = violations.value if isinstance(violations.value, Block) else Block([], listed=True)
    items, before = block.entries, {entry.index: entry for entry in baseline.entries}
    if not entries:
        violations.lead += [line for item in items for line in item.lead]
        violations.value = Leaf([])
        return write_tree(tree)
    block.entries = []
    for entry in entries:
        item = items[entry.index] if 0 <= entry.index < len(items) else Entry("", Leaf(None))
        if before.get(entry.index) != entry:
            violation = entry.violation
            texts = {
                "policy": violation.policy,
                "rule": violation.rule,
                "object": violation.object,
                "field": violation.field,
                "result": "error" if violation.is_error else "",
            }
            members = {key: dump_text(text) for key, text in texts.items() if text}
            if entry.count > 1:
                members["count"] = str(entry.count)
            if entry.reason:
                members["reason"] = dump_text(entry.reason)
            if entry.until:
                members["until"] = entry.until.isoformat()
            item.value = Block(
                [Entry(key, Leaf(text, f" {text}".split("\n"))) for key, text in members.items()]
            )
        block.entries.append(item)
    first = block.entries[0]
    while first.lead and not first.lead[0].strip():
        del first.lead[0]
    violations.value = block
    return write_tree(tree)


def about_baseline(
    matcher: BaselineMatcher, looked_at: Callable[[Violation], bool], fails_on_stale: bool = False
) -> Iterator[Diagnostic]:
    """Yield a warning for each entry that violations match after its end, and, unless the baseline
    is updated, a warning for each that is not needed any more; looked_at: whether the run would
    have found a violation; fails_on_stale: whether these are errors."""
    entries = list(matcher.expired())
    for entry in entries[:_LISTED]:
        ended = entry.until.isoformat() if entry.until else ""
        message = f"accepted until {ended}: {entry.violation}"
        hint = "fix it, or write a later day"
        yield Diagnostic(EXPIRED, Severity.WARNING, message, matcher.baseline.locate(entry), hint)
    yield from _others(EXPIRED, Severity.WARNING, len(entries), matcher.baseline)
    if not matcher.updates:
        gone = list(matcher.stale(looked_at))
        severity = Severity.ERROR if fails_on_stale else Severity.WARNING
        for entry, left in gone[:_LISTED]:
            message = f"no longer found: {entry.violation}"
            if left:
                message = f"found {left} times, not {entry.count}: {entry.violation}"
            hint = "--update-baseline removes it" if not left else "--update-baseline counts again"
            yield Diagnostic(STALE, severity, message, matcher.baseline.locate(entry), hint)
        yield from _others(STALE, severity, len(gone), matcher.baseline)


def update(matcher: BaselineMatcher, looked_at: Callable[[Violation], bool]) -> bool:
    """Write a baseline in one step; return whether its text has changed. Raise InputError."""
    baseline = matcher.baseline
    text = baseline_text(baseline, matcher.updated(looked_at))
    if baseline.document is None:
        write_whole(baseline.path, text)
    elif text != baseline.document.source.text:
        write_over(baseline.path, text)
    else:
        return False
    return True


def _others(rule: str, severity: Severity, count: int, baseline: Baseline) -> Iterator[Diagnostic]:
    more = count - _LISTED
    if more > 0:
        entries = "entry" if more == 1 else "entries"
        yield Diagnostic(rule, severity, f"and {more} more {entries}", Location(str(baseline.path)))
