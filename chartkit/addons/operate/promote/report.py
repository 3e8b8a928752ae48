"""The report of `chartkit promote`: the plan as text, as the text of a pull request, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click

from chartkit.addons.operate.promote import Promotion
from chartkit.addons.operate.promote.decision import counted, owners_of
from chartkit.addons.operate.promote.files import evidence_body
from chartkit.addons.operate.promote.model import PlannedPolicy, Verdict, Violation
from chartkit.model import Body, Diagnostic, Severity, gathered, single_line
from chartkit.report.command_report import Block, CommandReport, Heading, Items, Markup, Table
from chartkit.safe_text import shown

_SIGNS: Final = {Verdict.PROMOTE: "~", Verdict.HELD: "!", Verdict.DONE: "="}
_COLOURS: Final = {Verdict.PROMOTE: "green", Verdict.HELD: "red", Verdict.DONE: "cyan"}
_SHOWN: Final = 10
"""The most objects of a policy to show as text; JSON has all."""
_ORDER: Final = (Verdict.DONE, Verdict.PROMOTE, Verdict.HELD)


def report(promotion: Promotion) -> CommandReport:
    """Return a plan for every format."""
    return CommandReport(
        text=lambda _width: _text(promotion),
        value=lambda: _body(promotion),
        rows="policies",
        markdown=lambda: _markdown(promotion),
        findings=lambda: _findings(promotion),
    )


def _text(promotion: Promotion) -> Iterator[Block]:
    """Yield each policy with its evidence, then the totals."""
    plan = promotion.plan
    notes = [f"note: {shown(single_line(note))}" for note in plan.notes]
    if promotion.back:
        yield from (f"~ {shown(name)}  Enforce → as before" for name in promotion.back)
        yield from notes
        return
    yield from (f"evidence: {shown(name)} ({count})" for name, count in plan.sources)
    for verdict in _ORDER:
        for planned in plan.of(verdict):
            yield ""
            candidate, verdict = planned.candidate, planned.verdict
            where = f" in {', '.join(map(shown, plan.namespaces))}" if plan.namespaces else ""
            words = {
                Verdict.PROMOTE: f"Audit → Enforce{where}",
                Verdict.HELD: f"{verdict}",
                Verdict.DONE: f"{verdict}{where}",
            }
            line = f"{_SIGNS[verdict]} {shown(candidate.name)}  {words[verdict]}"
            yield click.style(line, fg=_COLOURS[verdict])
            if verdict is not Verdict.DONE:
                for reason in planned.reasons:
                    yield f"    held back: {shown(single_line(reason))}"
                yield f"    {_evidence_line(planned)}"
                if planned.exceptions:
                    yield f"    exceptions for {counted(candidate.evidence.blocked)}"
                blocked = candidate.evidence.blocked
                for violation in blocked[:_SHOWN]:
                    where = (
                        str(violation.location)
                        if violation.location is not None
                        else violation.source
                    )
                    owner = f", {shown(violation.owner)}" if violation.owner else ""
                    yield f"      {shown(str(violation.subject))}{owner}  {shown(where)}"
                    yield f"        {shown(single_line(violation.message))}"
                if len(blocked) > _SHOWN:
                    yield f"      … and {len(blocked) - _SHOWN} more"
    yield from _caveat_lines([*plan.of(Verdict.PROMOTE), *plan.of(Verdict.HELD)])
    yield from (shown(str(row)) for row in plan.unread)
    yield from (*notes, "", headline(promotion), *_afterwards(promotion))


def headline(promotion: Promotion) -> str:
    """Return the totals: `prd: 3 to Enforce, 2 held back: 14 objects in 3 namespaces, …`."""
    plan = promotion.plan
    text = f"{plan.environment}: {len(plan.of(Verdict.PROMOTE))} to Enforce"
    if plan.namespaces:
        text += f" in {', '.join(map(shown, plan.namespaces))}"
    if held := plan.of(Verdict.HELD):
        text += f", {len(held)} held back"
    if blocked := plan.blocked:
        text += f": {counted(blocked)}"
        if owners := owners_of(blocked):
            text += f", owners: {', '.join(map(shown, owners))}"
    if exceptions := sum(policy.exceptions for policy in plan.of(Verdict.PROMOTE)):
        text += f"; exceptions for {exceptions} object{'' if exceptions == 1 else 's'}"
    return text


def _afterwards(promotion: Promotion) -> Iterator[str]:
    plan = promotion.plan
    names = " ".join(policy.candidate.name for policy in plan.of(Verdict.PROMOTE))
    if plan.unread:
        yield "refused: nothing is promoted while an input is not read"
    elif promotion.is_refused:
        yield "refused: nothing is promoted while an object would be refused or is not decided"
    elif names:
        yield f"way back: chartkit promote {shown(names)} --to {plan.environment} --back --write"


def _caveat_lines(planned: Sequence[PlannedPolicy]) -> Iterator[str]:
    """Yield each caveat once, after the policies that it is about."""
    names = gathered(
        (caveat, policy.candidate.name) for policy in planned for caveat in policy.candidate.caveats
    )
    if names:
        yield from ("", "not in the evidence:")
    for caveat, those in names.items():
        is_all = len(those) == len(planned) > 1
        yield f"  {'all' if is_all else ', '.join(map(shown, those))}: {shown(caveat)}"


def _evidence_line(planned: PlannedPolicy) -> str:
    evidence = planned.candidate.evidence
    text = f"{len(evidence.passing)} of {len(evidence.objects)} objects pass"
    if evidence.reported:
        results = evidence.reported.total()
        text += "; 1 result of a report" if results == 1 else f"; {results} results of reports"
        if evidence.since is not None and evidence.until is not None:
            first, last = f"{evidence.since:%Y-%m-%d}", f"{evidence.until:%Y-%m-%d}"
            text += f" of {first}" if first == last else f" from {first} to {last}"
    return text


def _markdown(promotion: Promotion) -> Iterator[Block]:
    """Yield the text of a pull request: title, changes, evidence, and the way back."""
    plan = promotion.plan
    if promotion.back:
        yield Heading(f"Back to Audit in {plan.environment}", 1)
        yield f"{', '.join(promotion.back)}: as before the promotion."
        return
    yield Heading(headline(promotion), 1)
    if ready := [(policy, policy.candidate) for policy in plan.of(Verdict.PROMOTE)]:
        yield Heading("To Enforce")
        rows = [
            (candidate.name, _evidence_line(planned), "; ".join(candidate.caveats) or "-")
            for planned, candidate in ready
        ]
        yield Table(("policy", "evidence", "not in the evidence"), rows)
    if held := [(policy, policy.candidate) for policy in plan.of(Verdict.HELD)]:
        yield Heading("Held back")
        rows = [
            (
                candidate.name,
                "; ".join(planned.reasons),
                ", ".join(owners_of(candidate.evidence.blocked)),
            )
            for planned, candidate in held
        ]
        yield Table(("policy", "why", "owners"), rows)
    if plan.blocked:
        yield Heading("To fix first")
        objects = [
            (
                str(violation.subject),
                violation.owner,
                violation.rule,
                single_line(violation.message),
            )
            for violation in plan.blocked
        ]
        yield Table(("object", "owner", "rule", "message"), objects)
    if plan.sources or plan.unread:
        yield Heading("Evidence")
        sources = (f"{name}: {count}" for name, count in plan.sources)
        notes = map(single_line, (*map(str, plan.unread), *plan.notes))
        yield Items([*sources, *notes])
    for text in _afterwards(promotion):
        name, _, command = text.partition(": ")
        yield Heading(name.capitalize())
        yield Markup(command)


def _body(promotion: Promotion) -> Body:
    """Return the plan for programs, with every object."""
    plan = promotion.plan
    return {
        "environment": plan.environment,
        "namespaces": list(plan.namespaces),
        "refused": promotion.is_refused,
        "back": list(promotion.back),
        "summary": {
            "promote": len(plan.of(Verdict.PROMOTE)),
            "heldBack": len(plan.of(Verdict.HELD)),
            "done": len(plan.of(Verdict.DONE)),
        },
        "sources": [{"name": name, "count": count} for name, count in plan.sources],
        "notes": list(plan.notes),
        "unread": [str(row) for row in plan.unread],
        "policies": [_policy_body(planned) for planned in plan.policies],
    }


def _policy_body(planned: PlannedPolicy) -> Body:
    evidence = planned.candidate.evidence
    return {
        "name": planned.candidate.name,
        "verdict": str(planned.verdict),
        "reasons": list(planned.reasons),
        "evidence": evidence_body(planned),
        "caveats": list(planned.candidate.caveats),
        "exceptions": planned.exceptions,
        "blocked": [_violation(violation) for violation in evidence.blocked],
        "undecided": [_violation(violation) for violation in evidence.undecided],
        "notSent": len(evidence.unsent),
    }


def _violation(violation: Violation) -> Body:
    return {
        "kind": violation.subject.kind,
        "namespace": violation.subject.namespace or None,
        "name": violation.subject.name,
        "owner": violation.owner or None,
        "rule": violation.rule or None,
        "message": violation.message,
        "source": violation.source,
        "location": str(violation.location) if violation.location is not None else None,
    }


def _findings(promotion: Promotion) -> Iterator[Diagnostic]:
    """An error for each unread input and each refused object, a note for each promotion."""
    yield from promotion.plan.unread
    for policy in promotion.plan.policies:
        name = policy.candidate.name
        for hit in policy.candidate.evidence.blocked if policy.verdict is Verdict.HELD else ():
            text = f"{name} would refuse {hit.subject}: {hit.message}"
            yield Diagnostic(name, Severity.ERROR, text, hit.location)
        if policy.verdict is Verdict.PROMOTE:
            text = f"{name} may be set to Enforce: {_evidence_line(policy)}"
            yield Diagnostic(name, Severity.NOTE, text)
