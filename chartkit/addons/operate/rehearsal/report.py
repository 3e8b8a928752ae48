"""The report of a rehearsal: what to do first, with commands, then what each step does to which
objects."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.plan.origin import Origin, Tool, origin_of
from chartkit.addons.operate.rehearsal import RANKS, Act, Fact, Rehearsal
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Diagnostic, Resource, Severity, mapping_at, mappings_at
from chartkit.network.cluster.recording import is_recording
from chartkit.report.command_report import (
    Block,
    Code,
    CommandReport,
    Heading,
    Items,
    Table,
    text_of,
)
from chartkit.report.model import resource_id
from chartkit.report.text.layout import Screen
from chartkit.safe_text import shown
from chartkit.scan.inputs import STDIN
from chartkit.wording import abridged, counted

_ISSUE: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
_SAME: Final = re.compile(r"(([\w.-]+/[\w.-]+)#\d+), \2#")
"""Two issues of one repository."""
_LEVELS: Final = {"critical": Severity.ERROR, "high": Severity.ERROR, "medium": Severity.WARNING}
_APPLY: Final = frozenset((Tool.ARGO_CD, Tool.FLUX, Tool.HELM, Tool.CHART))
_LIBRARY: Final = "kyverno-policies"
"""The chart of a project's policies, whose `policyType` is the form of each."""
_NEW_KINDS: Final = Version(1, 17)
"""The first Kyverno that has all kinds of policies.kyverno.io, as v1."""
_LONGEST: Final = 70
"""The columns of a line of a command."""


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
    concerned = {id(resource) for _, fact in rehearsal.hits for resource in fact.objects}
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
                ends = [(item, list(rehearsal.acts.of(item)) if stops else []) for item in objects]
                order = list(Act).index
                ends.sort(key=lambda pair: [order(act) for act, _ in pair[1][:1]])
                head = ("object", "location", *(["what ends"] if stops else ()))
                yield Table(head, [_row(*pair)[: len(head)] for pair in ends])
    unasked = [fact for step in rehearsal.steps for fact in step.facts if not fact.is_asked]
    if unasked:
        yield from ("", Heading("To read: no object and no value that is known decides these"))
        yield Items([fact.change.sentence for fact in unasked])
    yield from (f"not read: {shown(line)}" for line in rehearsal.unread)


def _is_narrow(fact: Fact) -> bool:
    """Report whether a fact concerns some objects of its kinds, or settings alone."""
    concerned = fact.change.concerned
    return concerned is None or bool(concerned.path or concerned.versions)


def _fact(fact: Fact, with_advice: bool) -> str:
    change = fact.change
    sources = _SAME.sub(r"\1, #", ", ".join(_ISSUE.sub(r"\1#\2", link) for link in change.sources))
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
                "kind": resource.kind,
                "namespace": resource.namespace,
                "name": resource.name,
                "file": resource.location.file,
                "line": resource.location.line,
                "origin": origin_of(resource).as_json(),
                "stops": [text for _, text in stops(resource)],
            }
            for resource in fact.objects
        ],
        "values": [
            {"key": key, "file": location.file, "line": location.line}
            for key, location in fact.settings
        ],
    }


def _findings(rehearsal: Rehearsal) -> Iterator[Diagnostic]:
    """Yield a finding for each fact and object, or value, that it concerns."""
    for step, fact in rehearsal.hits:
        change = fact.change
        subjects = [(resource_id(item), item.location) for item in fact.objects] or fact.settings
        for name, location in subjects:
            text = f"{name}: Kyverno {step.after} ({change.severity}): {change.sentence}"
            level = _LEVELS.get(change.severity, Severity.NOTE)
            yield Diagnostic(f"upgrade/{step.after}", level, text, location, change.advice)
    yield from rehearsal.faults


@dataclass(frozen=True, slots=True)
class Task:
    """Something to do; details: what is concerned, a line each."""

    text: str
    commands: Sequence[str] = ()
    details: Sequence[str] = ()


def tasks(rehearsal: Rehearsal) -> Iterator[Task]:
    """Yield the tasks before the step that ends policies of kyverno.io; none without objects."""
    if (step := rehearsal.ending) is None:
        return
    switched = [old for old in rehearsal.migrated if _is_switched(rehearsal, old.legacy.origin)]
    migrated = [old for old in rehearsal.migrated if old not in switched]
    objects, running = [old.legacy for old in migrated], step.before
    if running != rehearsal.steps[0].before or running < _NEW_KINDS:
        yield Task(f"Upgrade to Kyverno {running}, which runs both the old and the new policies.")
    if switched:
        count = counted(len(switched), "policy", "policies")
        text = f"Set policyType: both in chartkit.yaml for {count}, later ValidatingPolicy."
        yield Task(text, ["chartkit render"])
    yield from _conversion(rehearsal, migrated)
    taken = [old.resource for old in objects if _takes_along(old.resource)]
    if taken:
        text = (
            "Set generate.orphanDownstreamOnPolicyDelete: true in these policies, and apply them: "
            f"Kyverno {running} deletes what they generated together with them."
        )
        yield Task(text, details=[f"{resource_id(item)} ({item.location})" for item in taken])
    yield Task(
        f"Install the new policies while Kyverno {running} still runs the old ones; what denies, "
        "first."
    )
    applied: dict[str, list[str]] = {}
    names: dict[tuple[str, str], list[str]] = {}
    for old_kind in objects:
        name, namespace = old_kind.resource.name, old_kind.resource.namespace
        if old_kind.origin.tool in _APPLY:
            applied.setdefault(str(old_kind.origin), []).append(name)
        else:
            names.setdefault((old_kind.resource.kind.lower(), namespace), []).append(name)
    if applied:
        text = (
            "Take the old policies out of what applies them, and let it prune them; once Kyverno "
            "is upgraded, each sync that applies one of them is denied."
        )
        yield Task(text, details=[f"{tool}: {abridged(given)}" for tool, given in applied.items()])
    if names:
        text = "Delete the old policies that no tool is known to apply"
        is_file = any(old_kind.document is not None for old_kind in objects)
        text += ", unless one applies these files and prunes them." if is_file else "."
        yield Task(text, [line for key, given in names.items() for line in _deletion(*key, given)])
    is_out = "" if not step.announcement else "it is out and "
    text = f"Upgrade to Kyverno {step.after} once {is_out}nothing is left: this exits 0 then."
    is_recorded = any(is_recording(Path(path)) for path in rehearsal.options.paths)
    inputs = "--cluster" if is_recorded else _inputs(rehearsal, "--rehearse ")
    start = rehearsal.environment or f"--from {rehearsal.start}"
    yield Task(text, [f"chartkit plan {start} --to {step.after} {inputs} --fail-on high"])


def _is_switched(rehearsal: Rehearsal, origin: Origin) -> bool:
    """Report whether an object is of the project's chart, which has each policy in CEL as well."""
    if not rehearsal.environment:
        return False
    return origin.chart.startswith(f"{_LIBRARY}-") or Path(origin.name).name == _LIBRARY


def _conversion(rehearsal: Rehearsal, migrated: Sequence[MigratedObject]) -> Iterator[Task]:
    rules = [(old, outcome) for old in migrated for outcome in old.outcomes]
    by_hand = [_by_hand(*pair) for pair in rules if not pair[1].converted]
    if count := len(rules) - len(by_hand):
        changed = sum(bool(outcome.changes) for _, outcome in rules)
        text = f"Convert {count} of {counted(len(rules), 'rule')}, with a proof of each."
        text += f" Of {changed} something changes: the plan says what." if changed else ""
        inputs = _inputs(rehearsal)
        files = all(old.legacy.document is not None for old in migrated)
        files = files and STDIN not in rehearsal.options.paths
        commands = [f"chartkit migrate plan {inputs}"] if changed else []
        target = "--write" if files else "--output new-policies"
        yield Task(text, [*commands, f"chartkit migrate policies {inputs} {target}"])
    if by_hand:
        yield Task(f"Rewrite {counted(len(by_hand), 'rule')} by hand, in CEL.", details=by_hand)


def _by_hand(migrated: MigratedObject, outcome: RuleOutcome) -> str:
    name = f", rule {outcome.rule}" if outcome.rule else ""
    location = migrated.locate(outcome)
    return f"{resource_id(migrated.legacy.resource)}{name} ({location}): {outcome.reason}"


def _takes_along(resource: Resource) -> bool:
    """Report whether Kyverno deletes what a policy generated together with it."""
    for rule in mappings_at(resource.body, "spec", "rules"):
        generate = mapping_at(rule, "generate")
        if generate.get("synchronize") and not generate.get("orphanDownstreamOnPolicyDelete"):
            return True
    return False


def _deletion(kind: str, namespace: str, names: Sequence[str]) -> list[str]:
    within = f" -n {shlex.quote(namespace)}" if namespace else ""
    command = f"kubectl delete {kind}.kyverno.io{within} {shlex.join(names)}"
    lines = textwrap.wrap(
        command, _LONGEST, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _inputs(rehearsal: Rehearsal, option: str = "") -> str:
    """Return the inputs of a rehearsal for a command; option: before each path."""
    options = rehearsal.options
    if options.cluster:
        context = f" --context {shlex.quote(options.context)}" if options.context else ""
        return f"--cluster{context}"
    paths = [f"{option}{shlex.quote(path)}" for path in options.paths]
    return " ".join([*paths, *(f"-f {shlex.quote(str(file))}" for file in options.values)])
