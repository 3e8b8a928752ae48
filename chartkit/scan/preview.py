"""The changes that policies would make: mutated and generated objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from chartkit.documents.yaml_dump import dump_documents, yaml_diff
from chartkit.engine import Phase, RunnablePolicy, as_submitted, respond
from chartkit.engine.jmespath.advice import advice
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Location, Resource, RuleResult, Severity, Status
from chartkit.network.cluster.cleaning import without_secret_values
from chartkit.output.atomic_folder import write_together
from chartkit.report.command_report import Block, Code, CommandReport
from chartkit.report.model import resource_id, rule_id
from chartkit.safe_text import shown
from chartkit.scan.run import ScanContext, with_refusals
from chartkit.wording import counted

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]")
_LONGEST: Final = 240
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_PHASES = frozenset({Phase.MUTATE, Phase.IMAGES, Phase.GENERATE})


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """An object that a rule would write. before: its current state, None for a new one; rules:
    those that contribute to it, as `policy/rule` or `policy`."""

    before: Body | None
    after: Body
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The changes that one object would cause. changes: the object itself first, then others;
    problems: rules that fail to mutate or generate."""

    resource: Resource
    changes: tuple[ChangedObject, ...]
    problems: tuple[RuleResult, ...]


def run_preview(
    policies: Sequence[RunnablePolicy],
    objects: Sequence[Resource],
    context: ScanContext,
    shows_secrets: bool = False,
) -> Iterator[Preview]:
    """Yield every object that rules would write, in order, each once: a rule that mutates existing
    objects finds those that the admission changed already as they are then. shows_secrets: whether
    Secrets have their values."""
    admissions = context.admissions(policies)
    submitted = [as_submitted(item, custom=context.custom) for item in objects]
    existing = {_key(item.body): item.body for item in submitted}
    seen: dict[tuple[str, str, str, str], list[Body]] = {}
    for resource in submitted:
        request = admissions.request(resource)
        responses = [
            item for item in respond(policies, request, context.world) if item.phase in _PHASES
        ]
        said = [result for response in responses for result in response.results]
        results = with_refusals(resource, said)
        changes: list[ChangedObject] = []
        changed = [result for result in results if result.patched and result.status is Status.PASS]
        last = changed[-1].patched if changed else None
        if last is not None and last != resource.body:
            changes.append(ChangedObject(resource.body, last, tuple(map(rule_id, changed))))
        for result in results:
            if result.patched_target is not None:
                before = existing.get(_key(result.patched_target))
                changes.append(ChangedObject(before, result.patched_target, (rule_id(result),)))
            changes.extend(
                ChangedObject(None, body, (rule_id(result),)) for body in result.generated
            )
            changes.extend(
                ChangedObject(existing.get(_key(body)), body, (rule_id(result),))
                for body in result.updated
            )
        new_changes: list[ChangedObject] = []
        for change in changes:
            bodies = seen.setdefault(_key(change.after), [])
            if change.after not in bodies:
                bodies.append(change.after)
                new_changes.append(change if shows_secrets else _without_secret_values(change))
        problem_lines: list[RuleResult] = []
        for result in results:
            if result.unmade:
                problem_lines.append(replace(result, status=Status.ERROR, message=result.unmade))
            elif result.status in (Status.ERROR, Status.FAIL):
                problem_lines.append(result)
        problems = tuple(problem_lines)
        if new_changes or problems:
            yield Preview(resource, tuple(new_changes), problems)


def changes_nothing(policies: Sequence[RunnablePolicy]) -> bool:
    """Report whether no policy can mutate or generate an object."""
    return all(_PHASES.isdisjoint(policy.phases) for policy in policies)


def write_manifests(previews: Sequence[Preview], folder: Path, shows_secrets: bool) -> None:
    """Write each object as rules would write it to a file of a folder, all of them or none; raise
    InputError for a file that is there already, and for a Secret whose values are not shown."""
    files: dict[Path, str] = {}
    for change in (changed_object for preview in previews for changed_object in preview.changes):
        resource = Resource(change.after)
        if resource.kind == "Secret" and not shows_secrets:
            message = f"Secret '{resource.name}' would be written without its values"
            raise InputError(message, None, "--show-secrets writes them as well")
        parts = filter(None, (resource.kind.lower(), resource.namespace, resource.name))
        name = _UNSAFE.sub("_", "-".join(parts))[:_LONGEST]
        files[folder / f"{name}.yaml"] = dump_documents([change.after])
    for file in files:
        if file.exists() or file.is_symlink():
            raise InputError("is there already, and is not overwritten", Location(str(file)))
    write_together(files)


def _without_secret_values(change: ChangedObject) -> ChangedObject:
    after = without_secret_values(change.after, change.before) or {}
    return replace(change, before=without_secret_values(change.before, change.after), after=after)


def _key(body: Body) -> tuple[str, str, str, str]:
    resource = Resource(body)
    return resource.api_version, resource.kind, resource.namespace, resource.name


def _text(previews: Sequence[Preview]) -> Iterator[Block]:
    """Yield mutated objects as unified diffs of YAML, and new ones in full."""
    for preview in previews:
        lines = [f"# {shown(resource_id(preview.resource))}  {preview.resource.location}"]
        for change in preview.changes:
            lines.append(f"# by {shown(', '.join(change.rules))}")
            if change.before is None:
                manifest = dump_documents([change.after]).removeprefix("---\n")
                lines += ["---", *manifest.splitlines()]
                continue
            name = shown(resource_id(Resource(change.after)))
            diff = yaml_diff(change.before, change.after, f"a/{name}", f"b/{name}")
            lines += [click.style(line, fg=_COLOURS.get(line[:1])) for line in diff]
        for problem in preview.problems:
            message = shown(" ".join(problem.message.split()))
            lines.append(f"# {problem.status} {shown(rule_id(problem))}: {message}")
            if hint := advice(message):
                lines.append(f"#   → {shown(hint)}")
        yield Code([*lines, ""])
    changed = [change for preview in previews for change in preview.changes]
    mutated = sum(change.before is not None for change in changed)
    problems = counted(sum(len(preview.problems) for preview in previews), "problem")
    yield Code([f"# {mutated} mutated, {len(changed) - mutated} generated, {problems}"])


def to_json(previews: Sequence[Preview]) -> Body:
    """Return one object, whose `previews` have an entry for every object: `resource`, `made` and
    `problems`."""
    entries: list[dict[str, Any]] = [
        {
            "resource": "/".join(_key(preview.resource.body)),
            "location": str(preview.resource.location),
            "made": [
                {"rules": list(change.rules), "before": change.before, "after": change.after}
                for change in preview.changes
            ],
            "problems": [
                {"rule": rule_id(result), "result": str(result.status), "message": result.message}
                for result in preview.problems
            ],
        }
        for preview in previews
    ]
    return {"previews": entries}


def report(previews: Sequence[Preview]) -> CommandReport:
    """Return previews for every format; its findings are rules that fail to change an object."""
    return CommandReport(
        text=lambda _width: _text(previews),
        value=lambda: to_json(previews),
        rows="previews",
        findings=lambda: _findings(previews),
    )


def _findings(previews: Sequence[Preview]) -> Iterator[Diagnostic]:
    for preview in previews:
        resource = preview.resource
        for result in preview.problems:
            text = f"{resource_id(resource)}: {result.message}"
            location = resource.location
            yield Diagnostic(rule_id(result), Severity.ERROR, text, location)
