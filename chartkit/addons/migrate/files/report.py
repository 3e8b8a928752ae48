"""The report of a migration: a table for a terminal, a page for a pull request, or JSON."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.printed import difference_sentence, faults, smallest
from chartkit.addons.migrate.files.run import Migration
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.plan.report import columns
from chartkit.addons.migrate.proof import Proof
from chartkit.model import Body, Diagnostic, Location, Severity
from chartkit.report.blocks import Block, Heading, Table
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import Finding, diagnostic_finding
from chartkit.report.model import resource_id
from chartkit.safe_text import shown, shown_lines
from chartkit.wording import counted

_WIDTH: Final = 80
_HEADS: Final = ("RULES", "CONVERTED", "CHANGES", "BY HAND")
_NOTHING: Final = "no policy of kyverno.io found"
_CHANGES: Final = "changes"
_NEEDS: Final = "needs"


def text(migration: Migration) -> Iterator[Block]:
    """Yield the table for a terminal, and below it what to know about rules."""
    unread = [f"not read: {shown(line)}" for line in migration.inventory.unread]
    if not migration.objects and not migration.mentions:
        yield from unread or [_NOTHING]
        return
    proved = any(each.proof is not None for each in migration.objects)
    rows = [_row(each, proved) for each in migration.objects]
    totals = [sum(int(row[at]) for row in rows) for at in range(1, 5)]
    total = (f"{len(rows)} in all", *map(str, totals), *([""] if proved else []))
    heads = ("POLICY", *_HEADS, *(["PROOF"] if proved else []))
    yield from columns([heads, *rows, total])
    notes = [line for each in migration.objects for line in _note_lines(each)]
    for one in migration.mentions:
        notes += _wrapped(f"{one.location}: not carried along: {one.what}")
    count = sum(each.changes for each in migration.tests)
    tests = (
        f"{count} kyverno-test.yaml {'names' if count == 1 else 'name'} converted policies"
        if count
        else ""
    )
    notes += _wrapped(tests)
    count = migration.patches.count
    patches = (
        f"{count} kustomize {'patch' if count == 1 else 'patches'} carried along" if count else ""
    )
    notes += _wrapped(patches)
    notes += [line for text in _coverage(migration) for line in _wrapped(text)]
    yield from ([""] if notes else [])
    yield from (*notes, *unread)


def _coverage(migration: Migration) -> Iterator[str]:
    """Yield what the proofs covered, and the differences between all policies of both kinds."""
    proofs = [each.proof for each in migration.objects if each.proof is not None]
    if not proofs:
        return
    requests, decided = sum(one.requests for one in proofs), sum(one.decided for one in proofs)
    reached = sum(one.coverage.reached for one in proofs)
    total = sum(one.coverage.total for one in proofs)
    yield (
        f"proof: {counted(requests, 'request')}, of which {decided} were decided; "
        f"{reached} of {total} states of rules, leaves and lists reached"
    )
    for name, count in sorted(_named(proofs).items()):
        yield f"known difference, {counted(count, 'request')}: {name}"
    for reason, count in sorted(_summed(one.left_out for one in proofs).items()):
        yield f"left out, {count}: {reason}"


def _named(proofs: Sequence[Proof]) -> Mapping[str, int]:
    return _summed(one.named for one in proofs)


def _summed(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total


def _row(each: MigratedObject, proved: bool) -> tuple[str, ...]:
    outcomes = each.outcomes
    converted = sum(one.converted for one in outcomes)
    changes = sum(bool(one.converted and one.changes) for one in outcomes)
    counts = (len(outcomes), converted, changes, len(outcomes) - converted)
    proof = [_proved(each)] if proved else []
    return (shown(resource_id(each.legacy.resource)), *map(str, counts), *proof)


def _proved(each: MigratedObject) -> str:
    if each.proof is None:
        return "-"
    if each.proof.equal:
        return "equal"
    if each.allowed:
        return "allowed"
    return "differs" if faults(each.proof) else "undecided"


def _note_lines(each: MigratedObject) -> Iterator[str]:
    name = resource_id(each.legacy.resource)
    for one in each.outcomes:
        for word, text in _notes(one):
            rule = f" rule {one.rule}" if one.rule else ""
            yield from _wrapped(f"{each.locate(one)}: {name}{rule}: {word}: {text}")
    place = each.legacy.resource.location
    for text in each.needs:
        yield from _wrapped(f"{place}: {name}: {_NEEDS}: {text}")
    if each.proof is not None:
        for difference in faults(each.proof):
            word = "differs, as allowed" if each.allowed else "differs"
            sentence = difference_sentence(difference)
            yield from _wrapped(f"{place}: {name}: {word}: {sentence}, for")
            yield from (f"    {line}" for line in shown_lines(smallest(difference)))


def _notes(outcome: RuleOutcome) -> Iterator[tuple[str, str]]:
    if not outcome.converted:
        yield "by hand", outcome.reason
    for change in outcome.changes:
        yield _CHANGES, change


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        shown(text),
        _WIDTH,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _markdown(migration: Migration) -> Iterator[Block]:
    """Yield the page for a pull request: policies, what to know about each, and the new ones."""
    if not migration.objects:
        yield _NOTHING
        return
    proved = any(each.proof is not None for each in migration.objects)
    heads = ("policy", "rules", "converted", "changes", "by hand", *(["proof"] if proved else []))
    yield Heading("Policies of kyverno.io migrated to policies.kyverno.io")
    yield Table(heads, [_row(each, proved) for each in migration.objects])
    notes = [row for each in migration.objects for row in _note_rows(each)]
    if notes:
        yield Table(("place", "policy", "rule", "", "what to know"), notes)
    if migration.mentions:
        around = [(str(mention.location), mention.what) for mention in migration.mentions]
        yield Table(("place", "not carried along"), around)
    if proved:
        covered = [row for each in migration.objects for row in _proof_rows(each)]
        head = ("policy", "requests", "decided", "states reached", "never reached", "left out")
        yield Table(head, covered)
        named = _named([each.proof for each in migration.objects if each.proof is not None])
        if named:
            rows = [(name, str(count)) for name, count in sorted(named.items())]
            yield Table(("known difference", "requests"), rows)


def _note_rows(each: MigratedObject) -> Iterator[Sequence[str]]:
    name = resource_id(each.legacy.resource)
    for one in each.outcomes:
        for word, text in _notes(one):
            yield str(each.locate(one)), name, one.rule, word, text
    for text in each.needs:
        yield str(each.legacy.resource.location), name, "", _NEEDS, text
    for difference in () if each.proof is None else faults(each.proof):
        word = f"differs, as allowed: {each.allowed}" if each.allowed else "differs"
        text = f"{difference_sentence(difference)}, for {json.dumps(difference.case.document)}"
        yield str(each.legacy.resource.location), name, "", word, text


def _proof_rows(each: MigratedObject) -> Iterator[Sequence[str]]:
    proof = each.proof
    if proof is not None:
        reached = f"{proof.coverage.reached} of {proof.coverage.total}"
        never = "; ".join(f"{place}: {states}" for place, states in _never(proof).items())
        left_out = "; ".join(f"{count} {reason}" for reason, count in proof.left_out.items())
        counts = (str(proof.requests), str(proof.decided))
        yield resource_id(each.legacy.resource), *counts, reached, never, left_out


def _never(proof: Proof) -> Mapping[str, str]:
    """Return the states that no request reached, by place."""
    return {
        f"{one.form} {one.name}": ", ".join(one.missing)
        for one in proof.coverage.places
        if one.missing
    }


def as_json(migration: Migration) -> Body:
    """The report for programs; docs/reference/migrate-policies.md describes the shape."""
    return {
        "objects": [_object_body(each) for each in migration.objects],
        "files": [
            {"file": each.file, "changes": each.changes}
            for each in (*migration.files, *migration.tests, *migration.patches.files)
        ],
        "notCarriedAlong": [
            {"file": one.location.file, "line": one.location.line, "what": one.what}
            for one in migration.mentions
        ],
        "notRead": list(migration.inventory.unread),
        "findings": [
            {"id": one.rule_id, "message": one.message, "location": str(one.location or "")}
            for one in migration.inventory.faults
        ],
    }


def _object_body(each: MigratedObject) -> Body:
    resource = each.legacy.resource
    return {
        "kind": resource.kind,
        "name": resource.name,
        "namespace": resource.namespace,
        "file": resource.location.file,
        "line": resource.location.line,
        "rules": [_rule_body(one, each.locate(one)) for one in each.outcomes],
        "documents": list(each.documents),
        "remaining": each.remaining,
        "needs": list(each.needs),
        "proof": None if each.proof is None else _proof_body(each.proof, each.allowed),
    }


def _rule_body(outcome: RuleOutcome, place: Location) -> Body:
    return {
        "name": outcome.rule,
        "type": outcome.type,
        "converted": outcome.converted,
        "replacedBy": list(outcome.replaced_by),
        "reason": outcome.reason,
        "changes": list(outcome.changes),
        "nearest": outcome.nearest,
        "file": place.file,
        "line": place.line,
    }


def _proof_body(proof: Proof, allowed: str) -> Body:
    return {
        "equal": proof.equal,
        "allowed": allowed,
        "requests": proof.requests,
        "decided": proof.decided,
        "reached": proof.coverage.reached,
        "states": proof.coverage.total,
        "neverReached": dict(_never(proof)),
        "leftOut": dict(proof.left_out),
        "knownDifferences": dict(proof.named),
        "differences": [
            {
                "aspect": str(one.aspect),
                "sentence": difference_sentence(one),
                "count": one.count,
                "stored": one.stored,
                "expectedTypes": one.typed,
                "request": one.case.document,
            }
            for one in proof.differences
        ],
    }


def report(migration: Migration) -> CommandReport:
    """Return the migration for every format."""
    return CommandReport(
        text=lambda _width: text(migration),
        value=lambda: as_json(migration),
        rows="objects",
        markdown=lambda: _markdown(migration),
        findings=lambda: _findings(migration),
    )


def _findings(migration: Migration) -> Iterator[Finding]:
    """Yield a warning for each rule that stays, a note for each change and permission, an
    error for each difference, and the faults."""
    for each in migration.objects:
        name = resource_id(each.legacy.resource)
        for one in each.outcomes:
            for word, text in _notes(one):
                severity = Severity.NOTE if word == _CHANGES else Severity.WARNING
                rule = f"migrate/{word.replace(' ', '-')}"
                message = f"{name} {one.rule}: {text}"
                place = each.locate(one)
                yield diagnostic_finding(Diagnostic(rule, severity, message, place))
        for text in each.needs:
            place = each.legacy.resource.location
            needed = Diagnostic("migrate/needs", Severity.NOTE, f"{name}: {text}", place)
            yield diagnostic_finding(needed)
        for difference in () if each.proof is None else faults(each.proof):
            severity = Severity.NOTE if each.allowed else Severity.ERROR
            text = f"{name}: {difference_sentence(difference)}, for\n{smallest(difference)}"
            place = each.legacy.resource.location
            yield diagnostic_finding(Diagnostic("migrate/differs", severity, text, place))
    for mention in migration.mentions:
        text = f"not carried along: {mention.what}"
        yield diagnostic_finding(Diagnostic("migrate", Severity.WARNING, text, mention.location))
    yield from map(diagnostic_finding, migration.inventory.faults)
