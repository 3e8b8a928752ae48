"""The decision about each policy: what evidence allows, and why it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chartkit.addons.operate.promote.caveats import caveats_of
from chartkit.addons.operate.promote.evidence import Scope, only_audits
from chartkit.addons.operate.promote.model import Candidate, PlannedPolicy, Verdict, Violation
from chartkit.addons.operate.promote.options import PromoteOptions
from chartkit.errors import InputError
from chartkit.suggestions import suggestion


def chosen(
    options: PromoteOptions,
    candidates: Sequence[Candidate],
    enforced: frozenset[str] | None,
    scope: Scope,
) -> list[Candidate]:
    """Return the candidates that options name; enforced: the policies that another environment
    enforces, None where that does not matter. Raise InputError for a name that is none."""
    by_name = {each.name: each for each in candidates}
    for name in options.policies:
        if name not in by_name:
            hint = suggestion(name, by_name) or f"it has {', '.join(by_name) or 'none'}"
            message = f"{options.target} has no policy '{name}' that judges objects"
            raise InputError(message, hint=hint)
    if not options.candidates:
        return [by_name[name] for name in dict.fromkeys(options.policies)]
    return [
        each
        for each in candidates
        if only_audits(each, scope) and (enforced is None or each.name in enforced)
    ]


def decided(candidate: Candidate, options: PromoteOptions, scope: Scope) -> PlannedPolicy:
    """Return the decision about a policy, with all its evidence."""
    candidate.caveats = caveats_of(candidate, everywhere=not scope.patterns)
    if not only_audits(candidate, scope):
        return PlannedPolicy(candidate, Verdict.DONE)
    _settle(candidate)
    evidence = candidate.evidence
    exceptions = 0
    if options.with_exceptions and evidence.blocked:
        exceptions = len({each.subject for each in evidence.blocked})
    reasons = tuple(_reasons(candidate, options, excepted=bool(exceptions)))
    verdict = Verdict.HELD if reasons else Verdict.PROMOTE
    return PlannedPolicy(candidate, verdict, reasons, exceptions if not reasons else 0)


def _settle(candidate: Candidate) -> None:
    """Drop what reports say of a violation that the engine found as well, and give what reports
    found the owners that the engine knows."""
    evidence = candidate.evidence
    owners = {each.subject: each.owner for each in evidence.blocked if each.owner}
    seen: dict[tuple[object, str], Violation] = {}
    for each in sorted(evidence.blocked, key=lambda each: each.location is None):
        owned = replace(each, owner=each.owner or owners.get(each.subject, ""))
        seen.setdefault((each.subject, each.rule), owned)
    evidence.blocked[:] = seen.values()


def _reasons(candidate: Candidate, options: PromoteOptions, excepted: bool) -> Iterator[str]:
    evidence = candidate.evidence
    if evidence.blocked and not excepted:
        yield f"{counted(evidence.blocked)} would be refused"
    if evidence.undecided:
        yield f"{counted(evidence.undecided)} cannot be decided: {evidence.undecided[0].message}"
    if not evidence.objects and not options.unmatched:
        yield "no evidence: none of its objects was found (--unmatched promotes it all the same)"
    if options.days is not None:
        yield from _too_short(candidate, options.days)


def _too_short(candidate: Candidate, days: int) -> Iterator[str]:
    since = candidate.evidence.since
    if since is None:
        yield f"no report says when: {days} days are asked for"
    elif since > datetime.now(UTC) - timedelta(days=days):
        yield f"its reports reach back to {since:%Y-%m-%d}: {days} days are asked for"


def counted(found: Iterable[Violation]) -> str:
    """Return the number of objects of violations, with that of their namespaces and owners."""
    subjects = {each.subject for each in found}
    spaces = {each.namespace for each in subjects if each.namespace}
    text = f"{len(subjects)} object{'' if len(subjects) == 1 else 's'}"
    if spaces:
        text += f" in {len(spaces)} namespace{'' if len(spaces) == 1 else 's'}"
    return text


def owners_of(found: Iterable[Violation]) -> list[str]:
    """Return the owners of violations that are known, sorted."""
    return sorted({each.owner for each in found if each.owner})
