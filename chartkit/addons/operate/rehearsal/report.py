"""The report of a rehearsal: what to do first, then what each step does to which objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from chartkit.addons.migrate.plan.origin import origin_of
from chartkit.addons.operate.rehearsal.acts import Act
from chartkit.addons.operate.rehearsal.facts import Fact, Step
from chartkit.addons.operate.rehearsal.run import RANKS, Rehearsal
from chartkit.addons.operate.rehearsal.todo import tasks
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.model import Body, Diagnostic, Resource, Severity
from chartkit.report.command_report import (
    Block,
    Code,
    CommandReport,
    Heading,
    Items,
    Table,
    text_of,
)
from chartkit.report.finding import Finding, diagnostic_finding
from chartkit.report.model import resource_id
from chartkit.report.text.layout import Screen
from chartkit.safe_text import shown
from chartkit.wording import counted

_ISSUE: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
_SAME: Final = re.compile(r"(([\w.-]+/[\w.-]+)#\d+), \2#")
"""Two issues of one repository."""
_LEVELS: Final = {
    "critical": Severity.ERROR,
    "high": Severity.ERROR,
    "medium": Severity.WARNING,
}


def report(rehearsal: Rehearsal) -> CommandReport:
    """Return a rehearsal for every format; the text is 80 columns wide, also in a file."""

    def text(width: int | None) -> Iterator[Block]:
        yield "".join(text_of(_blocks(rehearsal), Screen(width=min(width or 80, 80)))).rstrip()

    return CommandReport(
        text=text,
        value=lambda: _value(rehearsal),
        rows="steps",
        markdown=lambda: _blocks(rehearsal),
        findings=lambda: _findings(rehearsal),
    )


def _blocks(rehearsal: Rehearsal) -> Iterator[Block]:
    count = rehearsal.acts.objects + len(rehearsal.migrated)
    concerned = {id(each) for _, fact in rehearsal.hits for each in fact.objects}
    first, last = rehearsal.steps[0].before, rehearsal.steps[-1].after
    way = f"Kyverno {first}" + (f" → {last}" if first != last else "")
    yield Heading(
        f"{way}, rehearsed with {counted(count, 'object')}: {len(concerned) or 'none'} concerned", 1
    )
    for step in rehearsal.steps:
        if step.announcement:
            yield f"{step.announcement}: judged by what upstream plans."
    todo = list(tasks(rehearsal))
    if todo:
        yield from ("", Heading("Do first, in this order"))
    for number, task in enumerate(todo, 1):
        yield f"{number}. {task.text}"
        if task.details:
            yield Items([f"   {shown(line)}" for line in task.details])
        if task.commands:
            yield Code([f"   {shown(line)}" for line in task.commands])
    for step in rehearsal.steps:
        yield from _step(rehearsal, step)
    unasked = [fact for step in rehearsal.steps for fact in step.facts if not fact.is_asked]
    if unasked:
        yield from ("", Heading("To read: no object and no value that is known decides these"))
        yield Items([fact.change.sentence for fact in unasked])
    yield from (f"not read: {shown(line)}" for line in rehearsal.unread)


def _step(rehearsal: Rehearsal, step: Step) -> Iterator[Block]:
    """Yield the facts of a step that concern something, those of the same objects together."""
    together: dict[tuple[int, ...], list[Fact]] = {}
    hits = [fact for fact in step.facts if fact.hits]
    for fact in sorted(hits, key=lambda fact: RANKS[fact.change.severity]):
        together.setdefault(tuple(map(id, fact.objects)), []).append(fact)
    if together:
        yield from ("", Heading(step.title))
    for facts in together.values():
        stops = any(fact.change.stops for fact in facts)
        # The tasks say what to do about policies that end.
        has_tasks = stops and step is rehearsal.ending
        rows = [(fact.change.severity, _fact(fact, not has_tasks)) for fact in facts]
        yield Table(("severity", "what changes"), rows)
        objects = facts[0].objects
        listed = rehearsal.ending or step
        if listed is not step and all(map(is_legacy, objects)) and not _is_narrow(facts[0]):
            yield f"{len(objects)} of the objects of {listed.title}"
        elif objects:
            ends = [(each, list(rehearsal.acts.of(each)) if stops else []) for each in objects]
            order = list(Act).index
            ends.sort(key=lambda pair: [order(act) for act, _ in pair[1][:1]])
            head = ("object", "location", *(["what ends"] if stops else ()))
            yield Table(head, [_row(*pair)[: len(head)] for pair in ends])


def _is_narrow(fact: Fact) -> bool:
    """Report whether a fact concerns some objects of its kinds, or settings alone."""
    concerned = fact.change.concerned
    return concerned is None or bool(concerned.path or concerned.versions)


def _fact(fact: Fact, with_advice: bool) -> str:
    change = fact.change
    sources = _SAME.sub(r"\1, #", ", ".join(_ISSUE.sub(r"\1#\2", each) for each in change.sources))
    origin = ": ".join(filter(None, (change.announced, sources)))
    lines = [f"{change.sentence} ({origin})" if origin else change.sentence]
    lines += [shown(f"{location}: {key}") for key, location in fact.settings]
    if change.advice and with_advice:
        lines.append(f"→ {change.advice}")
    return "\n".join(lines)


def _row(resource: Resource, ends: list[tuple[Act, str]]) -> Sequence[str]:
    stops = f"stops {'; '.join(text for _, text in ends)}" if ends else "-"
    return shown(resource_id(resource)), shown(str(resource.location)), stops


def _value(rehearsal: Rehearsal) -> Body:
    return {
        "from": str(rehearsal.steps[0].before),
        "to": str(rehearsal.steps[-1].after),
        "tasks": [asdict(task) for task in tasks(rehearsal)],
        "steps": [
            {
                "from": str(step.before),
                "to": str(step.after),
                "announced": bool(step.announcement),
                "facts": [_fact_body(rehearsal, fact) for fact in step.facts if fact.hits],
                "toRead": [fact.change.sentence for fact in step.facts if not fact.is_asked],
            }
            for step in rehearsal.steps
        ],
        "notRead": list(rehearsal.unread),
    }


def _fact_body(rehearsal: Rehearsal, fact: Fact) -> Body:
    stops = rehearsal.acts.of if fact.change.stops else lambda _: ()
    return {
        **fact.change.as_json(),
        "severity": fact.change.severity,
        "advice": fact.change.advice,
        "objects": [
            {
                "kind": each.kind,
                "namespace": each.namespace,
                "name": each.name,
                "file": each.location.file,
                "line": each.location.line,
                "origin": origin_of(each).as_json(),
                "stops": [text for _, text in stops(each)],
            }
            for each in fact.objects
        ],
        "values": [
            {"key": key, "file": location.file, "line": location.line}
            for key, location in fact.settings
        ],
    }


def _findings(rehearsal: Rehearsal) -> Iterator[Finding]:
    """Yield a finding for each fact and object, or value, that it concerns."""
    for step, fact in rehearsal.hits:
        change = fact.change
        subjects = [(resource_id(each), each.location) for each in fact.objects] or fact.settings
        for name, location in subjects:
            text = f"{name}: Kyverno {step.after} ({change.severity}): {change.sentence}"
            level = _LEVELS.get(change.severity, Severity.NOTE)
            diagnostic = Diagnostic(f"upgrade/{step.after}", level, text, location, change.advice)
            yield diagnostic_finding(diagnostic)
    yield from map(diagnostic_finding, rehearsal.faults)
