"""The report of a migration: a table for a terminal, a page for a pull request, or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.migrate.charts.forms import SWITCH
from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.printed import difference_sentence, wrapped
from chartkit.addons.migrate.files.run import Migration
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.plan.report import columns, finding_body, said_once
from chartkit.addons.migrate.proof import Proof
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body, Diagnostic, Location, Severity
from chartkit.report.command_report import Block, CommandReport, Heading, Table
from chartkit.report.model import resource_id
from chartkit.safe_text import shown, shown_lines
from chartkit.wording import abridged, counted

_HEADS: Final = ("RULES", "CONVERTED", "CHANGES", "BY HAND")
_NOTHING: Final = "no policy of kyverno.io found"
_CHANGES: Final = "changes"
_NEEDS: Final = "needs"
_SPLIT: Final = "split"
_REASONS: Final = 4
"""The most reasons for which requests of the proofs were not made that are written out."""


def text(migration: Migration) -> Iterator[Block]:
    """Yield the table for a terminal, and below it what to know about rules."""
    unread = [row for line in migration.inventory.unread for row in _wrapped(f"not read: {line}")]
    if not migration.objects and not migration.mentions:
        yield from unread or [_NOTHING]
        return
    proved = any(migrated_object.proof is not None for migrated_object in migration.objects)
    rows = [_row(migrated_object, proved) for migrated_object in migration.objects]
    totals = [sum(int(row[at]) for row in rows) for at in range(1, 5)]
    total = (f"{len(rows)} in all", *map(str, totals), *([""] if proved else []))
    heads = ("POLICY", *_HEADS, *(["PROOF"] if proved else []))
    yield from columns([heads, *rows, total])
    notes = list(_note_lines(migration.objects))
    for what, places in _places_by_mention(migration).items():
        others = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        notes += _wrapped(f"{places[0]}{others}: not carried along: {what}")
    count = sum(file_text.changes for file_text in migration.tests)
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
    once = (*said_once(migration.objects), *_charts(migration), *_coverage(migration))
    notes += [line for text in once for line in _wrapped(text)]
    yield from ([""] if notes else [])
    yield from (*notes, *unread)


def _places_by_mention(migration: Migration) -> Mapping[str, Sequence[Location]]:
    """Return what is not carried along, each with the places where it is said."""
    places: dict[str, list[Location]] = {}
    for mention in migration.mentions:
        places.setdefault(mention.what, []).append(mention.location)
    return places


def _charts(migration: Migration) -> Iterator[str]:
    """Yield how many templates have both forms, and which values the new ones refuse."""
    charts = migration.charts
    if not charts.converted:
        return
    count = len(charts.converted)
    yield f"{counted(count, 'template')} of charts with both forms of a policy, behind {SWITCH}"
    for place in charts.served:
        yield f"{place}: asks for the API of either form, and each form for its own"
    reasons = (reason for reasons in charts.refused.values() for reason in reasons)
    refused: dict[str, list[str]] = {}
    for reason in reasons:
        value, _, rest = reason.partition(" ")
        refused.setdefault(rest, []).append(value)
    for rest, values in sorted(refused.items()):
        value = f"one of {len(values)} values" if values[1:] else values[0]
        yield f"the new form stops Helm where {value} {rest}"


def _coverage(migration: Migration) -> Iterator[str]:
    """Yield what the proofs covered, and the differences between all policies of both kinds."""
    proofs = [resource.proof for resource in migration.objects if resource.proof is not None]
    if not proofs:
        return
    requests = sum(proof.requests for proof in proofs)
    decided = sum(proof.decided for proof in proofs)
    reached = sum(proof.coverage.reached for proof in proofs)
    total = sum(proof.coverage.total for proof in proofs)
    yield (
        f"proof: {counted(requests, 'request')}, of which {decided} were decided; "
        f"{reached} of {total} states of rules, leaves and lists reached"
    )
    for name, count in sorted(_summed(proof.named for proof in proofs).items()):
        yield f"known difference, {counted(count, 'request')}: {name}"
    left_out = _summed(proof.left_out for proof in proofs)
    if left_out:
        reasons = [f"{reason} ({count})" for reason, count in left_out.most_common()]
        listing = " (-o json lists them)" if len(reasons) > _REASONS else ""
        yield f"left out, {left_out.total()}: {abridged(reasons, _REASONS)}{listing}"


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def _row(migrated: MigratedObject, proved: bool) -> tuple[str, ...]:
    outcomes = migrated.outcomes
    converted = sum(outcome.converted for outcome in outcomes)
    changes = sum(bool(outcome.converted and outcome.changes) for outcome in outcomes)
    counts = (len(outcomes), converted, changes, len(outcomes) - converted)
    verdict = "allowed" if migrated.fault and migrated.allowed else str(migrated.verdict)
    proof = [verdict] if proved else []
    return (shown(resource_id(migrated.legacy.resource)), *map(str, counts), *proof)


def _note_lines(objects: Sequence[MigratedObject]) -> Iterator[str]:
    """Yield what to know about each rule, notes that several have once."""
    for places, notes in _notes_by_places(objects).items():
        others = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        if len(notes) == 1:
            yield from _wrapped(f"{places[0]}{others}: {notes[0]}")
            continue
        yield from _wrapped(f"{places[0]}{others}:")
        for note in notes:
            yield from _wrapped(note, "  ")
    for migrated_object in objects:
        name, location = _named_and_placed(migrated_object)
        if moved := _split(migrated_object):
            yield from _wrapped(f"{location}: {name}: {_SPLIT}: {moved}")
        for counterexample in migrated_object.counterexamples:
            word = "differs, as allowed" if migrated_object.allowed else "differs"
            yield from _wrapped(f"{location}: {name}: {word}: {counterexample.difference}, for")
            yield from (f"    {line}" for line in shown_lines(dump_yaml(counterexample.request)))


def _notes_by_places(objects: Sequence[MigratedObject]) -> Mapping[tuple[str, ...], list[str]]:
    """Return the notes by the rules and policies that have all of them."""
    by_note: dict[str, list[str]] = {}
    for migrated_object in objects:
        name, location = _named_and_placed(migrated_object)
        for outcome in migrated_object.outcomes:
            rule = f" rule {outcome.rule}" if outcome.rule else ""
            place = f"{migrated_object.locate(outcome)}: {name}{rule}"
            for word, text in _notes(outcome):
                by_note.setdefault(f"{word}: {text}", []).append(place)
        for text in migrated_object.needs:
            by_note.setdefault(f"{_NEEDS}: {text}", []).append(f"{location}: {name}")
    by_places: dict[tuple[str, ...], list[str]] = {}
    for note, places in by_note.items():
        by_places.setdefault(tuple(places), []).append(note)
    return by_places


def _named_and_placed(migrated: MigratedObject) -> tuple[str, Location]:
    resource = migrated.legacy.resource
    return resource_id(resource), resource.location


def _notes(outcome: RuleOutcome) -> Iterator[tuple[str, str]]:
    if not outcome.converted:
        yield "by hand", outcome.reason
    for change in outcome.changes:
        yield _CHANGES, change
    for remark in outcome.remarks:
        yield "note", remark


def _split(migrated: MigratedObject) -> str:
    """Return which rules of a policy move and which stay; empty where all do one of both."""
    moved = [rule for rule in migrated.outcomes if rule.converted]
    left = [rule.rule for rule in migrated.outcomes if not rule.converted]
    if not moved or not left:
        return ""
    names = dict.fromkeys(name for outcome in moved for name in outcome.replaced_by)
    rules = abridged([outcome.rule for outcome in moved])
    return f"{rules} → {abridged(list(names))}; {abridged(left)} {'stay' if left[1:] else 'stays'}"


def _wrapped(text: str, indentation: str = "") -> list[str]:
    return wrapped(text, first=indentation, following=f"{indentation}  ")


def _markdown(migration: Migration) -> Iterator[Block]:
    """Yield the page for a pull request: policies, what to know about each, and the new ones."""
    if not migration.objects:
        yield _NOTHING
        return
    proved = any(migrated_object.proof is not None for migrated_object in migration.objects)
    heads = ("policy", "rules", "converted", "changes", "by hand", *(["proof"] if proved else []))
    yield Heading("Policies of kyverno.io migrated to policies.kyverno.io")
    yield Table(heads, [_row(migrated_object, proved) for migrated_object in migration.objects])
    notes = [row for migrated_object in migration.objects for row in _note_rows(migrated_object)]
    if notes:
        yield Table(("place", "policy", "rule", "", "what to know"), notes)
    yield from said_once(migration.objects)
    if migration.mentions:
        around = [(str(mention.location), mention.what) for mention in migration.mentions]
        yield Table(("place", "not carried along"), around)
    if proved:
        covered = [row for resource in migration.objects for row in _proof_rows(resource)]
        head = ("policy", "requests", "decided", "states reached", "never reached", "left out")
        yield Table(head, covered)
        proofs = [item.proof for item in migration.objects if item.proof is not None]
        named = _summed(proof.named for proof in proofs)
        if named:
            rows = [(name, str(count)) for name, count in sorted(named.items())]
            yield Table(("known difference", "requests"), rows)


def _note_rows(migrated: MigratedObject) -> Iterator[Sequence[str]]:
    name = resource_id(migrated.legacy.resource)
    for outcome in migrated.outcomes:
        for word, text in _notes(outcome):
            yield str(migrated.locate(outcome)), name, outcome.rule, word, text
    if moved := _split(migrated):
        yield str(migrated.legacy.resource.location), name, "", _SPLIT, moved
    for text in migrated.needs:
        yield str(migrated.legacy.resource.location), name, "", _NEEDS, text
    for counterexample in migrated.counterexamples:
        word = f"differs, as allowed: {migrated.allowed}" if migrated.allowed else "differs"
        text = f"{counterexample.difference}, for {json.dumps(counterexample.request)}"
        yield str(migrated.legacy.resource.location), name, "", word, text


def _proof_rows(migrated: MigratedObject) -> Iterator[Sequence[str]]:
    proof = migrated.proof
    if proof is not None:
        reached = f"{proof.coverage.reached} of {proof.coverage.total}"
        never = "; ".join(f"{place}: {states}" for place, states in _never(proof).items())
        left_out = "; ".join(f"{count} {reason}" for reason, count in proof.left_out.items())
        counts = (str(proof.requests), str(proof.decided))
        yield resource_id(migrated.legacy.resource), *counts, reached, never, left_out


def _never(proof: Proof) -> Mapping[str, str]:
    """Return the states that no request reached, by place."""
    return {
        f"{reached.form} {reached.name}": ", ".join(reached.missing)
        for reached in proof.coverage.places
        if reached.missing
    }


def as_json(migration: Migration) -> Body:
    """The report for programs; docs/reference/migrate-policies.md describes the shape."""
    inventory = migration.inventory
    return {
        "objects": [_object_body(migrated_object) for migrated_object in migration.objects],
        "files": [
            {"file": file_text.file, "changes": file_text.changes}
            for file_text in (*migration.files, *migration.tests, *migration.patches.files)
        ],
        "notCarriedAlong": [
            {"file": mention.location.file, "line": mention.location.line, "what": mention.what}
            for mention in migration.mentions
        ],
        "notRead": list(inventory.unread),
        "findings": [finding_body(finding) for finding in (*inventory.findings, *inventory.notes)],
    }


def _object_body(migrated: MigratedObject) -> Body:
    resource = migrated.legacy.resource
    return {
        "kind": resource.kind,
        "name": resource.name,
        "namespace": resource.namespace,
        "file": resource.location.file,
        "line": resource.location.line,
        "rules": [_rule_body(outcome, migrated.locate(outcome)) for outcome in migrated.outcomes],
        "documents": list(migrated.documents),
        "remaining": migrated.remaining,
        "needs": list(migrated.needs),
        "proof": None if migrated.proof is None else _proof_body(migrated.proof, migrated.allowed),
    }


def _rule_body(outcome: RuleOutcome, location: Location) -> Body:
    return {
        "name": outcome.rule,
        "type": outcome.type,
        "converted": outcome.converted,
        "replacedBy": list(outcome.replaced_by),
        "reason": outcome.reason,
        "changes": list(outcome.changes),
        "dropsDeletions": outcome.drops_deletions,
        "refusesUpdates": outcome.refuses_updates,
        "remarks": list(outcome.remarks),
        "nearest": outcome.nearest,
        "file": location.file,
        "line": location.line,
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
                "aspect": str(difference.aspect),
                "sentence": difference_sentence(difference),
                "count": difference.count,
                "stored": difference.stored,
                "expectedTypes": difference.typed,
                "request": difference.case.document,
            }
            for difference in proof.differences
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


def _findings(migration: Migration) -> Iterator[Diagnostic]:
    """Yield a warning for each rule that stays, a note for each change and permission, an
    error for each difference, and the faults."""
    for migrated_object in migration.objects:
        name = resource_id(migrated_object.legacy.resource)
        for outcome in migrated_object.outcomes:
            for word, text in _notes(outcome):
                severity = Severity.NOTE if word == _CHANGES else Severity.WARNING
                rule = f"migrate/{word.replace(' ', '-')}"
                message = f"{name} {outcome.rule}: {text}"
                location = migrated_object.locate(outcome)
                yield Diagnostic(rule, severity, message, location)
        for text in migrated_object.needs:
            location = migrated_object.legacy.resource.location
            yield Diagnostic("migrate/needs", Severity.NOTE, f"{name}: {text}", location)
        for counterexample in migrated_object.counterexamples:
            severity = Severity.NOTE if migrated_object.allowed else Severity.ERROR
            text = f"{name}: {counterexample.difference}, for\n{dump_yaml(counterexample.request)}"
            location = migrated_object.legacy.resource.location
            yield Diagnostic("migrate/differs", severity, text, location)
    for mention in migration.mentions:
        text = f"not carried along: {mention.what}"
        yield Diagnostic("migrate", Severity.WARNING, text, mention.location)
    inventory = migration.inventory
    yield from (*inventory.findings, *inventory.notes)
