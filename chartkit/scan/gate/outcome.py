"""The outcome of a run: what it says about the baseline, and its exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from chartkit.model import Diagnostic, Location, Resource, Severity, Status
from chartkit.report.outputs import write_over, write_whole
from chartkit.scan.gate.baseline import Baseline, BaselineMatcher, KnownViolation
from chartkit.scan.gate.gate import Gate
from chartkit.scan.gate.options import GateOptions, Threshold
from chartkit.scan.gate.violation import Violation
from chartkit.wording import counted

STALE: Final = "CK602"
EXPIRED: Final = "CK603"
NOTHING: Final = "CK604"
THRESHOLD: Final = "threshold"
_LISTED: Final = 20


class Outcome(NamedTuple):
    """The outcome of a run: findings about it, and its exit code."""

    diagnostics: tuple[Diagnostic, ...]
    exit_code: int


NearestMiss = Callable[[Sequence[Resource]], str]
"""Names the rule that came nearest to matching objects, and why it does not; empty for none."""


def conclude(
    gate: Gate, options: GateOptions, is_broken: bool, is_partial: bool, nearest: NearestMiss
) -> Outcome:
    """Return the outcome of a run, and write the baseline where it is to be updated.

    is_broken: whether a policy does not compile, or something could not be read; is_partial:
    whether only some of the objects were scanned. Raise InputError for a selector of objects that
    matches none, and where the baseline cannot be written.
    """
    tally, matcher = gate.tally, gate.acceptor.matcher
    looked_at = partial(gate.looked_at, is_partial=is_partial)
    found: list[Diagnostic] = []
    if matcher is not None and options.update_baseline:
        update(matcher, looked_at)
    if matcher is not None:
        found += about_baseline(matcher, looked_at, options.fail_on_stale)
    is_nothing = tally.is_empty and not is_partial
    # What is broken may be why nothing matched.
    if is_nothing and (options.fail_on_nothing or not is_broken):
        severity = Severity.ERROR if options.fail_on_nothing else Severity.NOTE
        message = "no policy matched any object"
        miss = nearest(tally.unmatched)
        hint = f"the nearest is {miss}" if miss else "compare the policies' match with the objects"
        found.append(Diagnostic(NOTHING, severity, message, None, hint))
    if tally.below:
        least = options.fail_on or Threshold.NONE
        many = counted(tally.below, "violation", "violations")
        what = f"{many} below {least}" if least != Threshold.NONE else many
        message = f"{what} {'does' if tally.below == 1 else 'do'} not fail the run"
        found.append(Diagnostic(THRESHOLD, Severity.NOTE, message, None, f"--fail-on {least}"))
    fails = is_broken or tally.failing or any(each.severity is Severity.ERROR for each in found)
    warns = tally.statuses[Status.WARN] or tally.below
    code = 1 if fails else (options.warn_exit_code or 0) if warns else 0
    return Outcome(tuple(found), code)


def about_baseline(
    matcher: BaselineMatcher, looked_at: Callable[[Violation], bool], fails_on_stale: bool = False
) -> Iterator[Diagnostic]:
    """Yield a warning for each entry that violations match after its end, and, unless the baseline
    is updated, a warning for each that is not needed any more; looked_at: whether the run would
    have found a violation; fails_on_stale: whether these are errors."""
    yield from _expired(matcher.baseline, list(matcher.expired()))
    if not matcher.updates:
        yield from _stale(matcher.baseline, list(matcher.stale(looked_at)), fails_on_stale)


def update(matcher: BaselineMatcher, looked_at: Callable[[Violation], bool]) -> bool:
    """Write a baseline in one step; return whether its text has changed. Raise InputError."""
    from chartkit.scan.gate.baseline_text import baseline_text

    baseline = matcher.baseline
    text = baseline_text(baseline, matcher.updated(looked_at))
    if baseline.document is None:
        write_whole(baseline.path, text)
    elif text != baseline.document.source.text:
        write_over(baseline.path, text)
    else:
        return False
    return True


def _stale(
    baseline: Baseline, found: Sequence[tuple[KnownViolation, int]], fails: bool
) -> Iterator[Diagnostic]:
    severity = Severity.ERROR if fails else Severity.WARNING
    for entry, left in found[:_LISTED]:
        message = f"no longer found: {entry.violation}"
        if left:
            message = f"found {left} times, not {entry.count}: {entry.violation}"
        hint = "--update-baseline removes it" if not left else "--update-baseline counts again"
        yield Diagnostic(STALE, severity, message, baseline.locate(entry), hint)
    yield from _others(STALE, severity, len(found), baseline)


def _expired(baseline: Baseline, found: Sequence[KnownViolation]) -> Iterator[Diagnostic]:
    for entry in found[:_LISTED]:
        ended = entry.until.isoformat() if entry.until else ""
        message = f"accepted until {ended}: {entry.violation}"
        hint = "fix it, or write a later day"
        yield Diagnostic(EXPIRED, Severity.WARNING, message, baseline.locate(entry), hint)
    yield from _others(EXPIRED, Severity.WARNING, len(found), baseline)


def _others(rule: str, severity: Severity, count: int, baseline: Baseline) -> Iterator[Diagnostic]:
    more = count - _LISTED
    if more > 0:
        entries = "entry" if more == 1 else "entries"
        yield Diagnostic(rule, severity, f"and {more} more {entries}", Location(str(baseline.path)))
