"""Faults in a project's PolicyExceptions, found with the objects to check them with, and the
reports of `chartkit exceptions list` and `check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO

from chartkit.engine import NO_ATTACHMENTS, RunnablePolicy
from chartkit.engine.cel_policies.exceptions import read_cel_exception, without_effect
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Location, Severity, mappings_at
from chartkit.network.cluster.recording import is_recording
from chartkit.project.project import ExceptionRules, Project
from chartkit.project.settings import NamedFile
from chartkit.report.command_report import Block, CommandReport, Table
from chartkit.report.finding import diagnostic_entry, diagnostic_finding
from chartkit.safe_text import shown
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.exceptions.model import FiledException, filed, lifetime, read_files
from chartkit.scan.exceptions.need import Needs, narrower
from chartkit.scan.gate.selection import rule_names
from chartkit.scan.inputs import Note
from chartkit.scan.requests import RequestOptions, load_named_policies, load_requests
from chartkit.scan.run import ScanContext
from chartkit.scan.user_inputs import load_user_inputs
from chartkit.suggestions import suggestion
from chartkit.wording import counted

UNKNOWN: Final = "unknown-policy"
UNKNOWN_RULE: Final = "unknown-rule"
UNUSED: Final = "unused"
WIDE: Final = "too-wide"
_HEADINGS = ("NAME", "POLICIES", "ENDS", "ENVIRONMENTS", "LOCATION")


def check(
    exceptions: Sequence[FiledException],
    policies: Sequence[RunnablePolicy],
    needs: Needs | None,
    rules: ExceptionRules,
    now: datetime,
    soon_days: int,
) -> Iterator[Diagnostic]:
    """Yield what is wrong with exceptions.

    policies: those that they may be from, compiled without exceptions; needs: of the objects that
    there are, None where there are none; soon_days: see `lifetime`.
    """
    known = {name for policy in policies for name in (policy.policy.key, policy.policy.name)}
    for each in exceptions:
        yield from lifetime(each, rules, now, soon_days)
        yield from _unknown(each, policies)
        idle = list(_without_effect(each, policies))
        yield from idle
        if not idle and needs is not None and each.forms and not known.isdisjoint(each.policies):
            yield from _need(each, needs)


def _unknown(exception: FiledException, policies: Sequence[RunnablePolicy]) -> Iterator[Diagnostic]:
    """Yield the policies and rules that an exception names and that there are not."""
    resource = exception.resource
    known = {name: one for one in policies for name in (one.policy.key, one.policy.name)}
    for name in exception.policies:
        if name not in known:
            message = f"exception {resource.name} names policy '{name}', which there is not"
            hint = suggestion(name, known) or "take it out, or correct the name"
            yield Diagnostic(UNKNOWN, Severity.ERROR, message, resource.location, hint)
    for index, one in enumerate(mappings_at(resource.body["spec"], "exceptions")):
        policy = known.get(str(one.get("policyName")))
        if policy is None or not isinstance(policy.policy, Policy):
            continue
        names = rule_names(policy)
        for at, rule in enumerate(one.get("ruleNames") or ()):
            if not any(map(compile_wildcard(str(rule)), names)):
                location = resource.location.within(f"/spec/exceptions/{index}/ruleNames/{at}")
                message = f"exception {resource.name} names rule '{rule}' of {policy.policy.key}, "
                message += "which there is not"
                hint = suggestion(str(rule), names) or f"its rules are {', '.join(names)}"
                yield Diagnostic(UNKNOWN_RULE, Severity.ERROR, message, location, hint)


def _without_effect(
    exception: FiledException, policies: Sequence[RunnablePolicy]
) -> Iterator[Diagnostic]:
    """Yield the policies that an exception names and on which it has no effect."""
    if exception.is_legacy:
        return
    read = read_cel_exception(exception.resource)
    for policy in policies:
        if isinstance(policy.policy, CelPolicy):
            yield from without_effect(policy.policy, [read])


def _need(exception: FiledException, needs: Needs) -> Iterator[Diagnostic]:
    resource = exception.resource
    lifted = needs.lifted(exception.forms)
    if not lifted:
        message = f"no object needs exception {resource.name}"
        hint = "take it out, or scan the objects that it is for"
        yield Diagnostic(UNUSED, Severity.WARNING, message, resource.location, hint)
        return
    if exception.forms != (resource,):
        return  # What is installed is narrowed where it is as the file has it.
    found = narrower(resource, lifted, needs)
    if found is not None:
        message = f"exception {resource.name} is wider than what needs it: {'; '.join(found.steps)}"
        hint = "a narrower one lets the same objects off"
        yield Diagnostic(WIDE, Severity.WARNING, message, resource.location, hint)


@contextmanager
def needs_of(
    options: RequestOptions, environment: ProjectEnvironment | None, stdin: TextIO, note: Note
) -> Iterator[tuple[Sequence[RunnablePolicy], Needs | None]]:
    """Yield policies without exceptions, and what the objects at the paths need of those; None
    without paths. Raise InputError."""
    recordings = [path for path in map(Path, options.inputs.paths) if is_recording(path)]
    if recordings and len(options.inputs.paths) > 1:
        raise InputError("a recording is read alone", hint="leave the other PATHs out")
    without = replace(options, policies=replace(options.policies, exceptions=()))
    if options.inputs.paths and not recordings:
        requests = load_requests(without, stdin, note, environment=environment)
        policies = requests.policies.policies
        yield policies, Needs(policies, requests.objects, requests.context(requests.world()))
        return
    if environment is not None:
        policies = environment.policies(NO_ATTACHMENTS).policies
    else:
        policies = load_named_policies(without, NO_ATTACHMENTS).policies
    if not recordings:
        yield policies, None
        return
    with _recorded(recordings[0], without, policies, note) as needs:
        yield policies, needs


@contextmanager
def _recorded(
    recording: Path, options: RequestOptions, policies: Sequence[RunnablePolicy], note: Note
) -> Iterator[Needs]:
    from chartkit.scan.cluster import Survey, open_cluster
    from chartkit.scan.cluster_source import ClusterSource

    source = ClusterSource(recording=recording, namespace=options.inputs.only_namespace)
    with open_cluster(source) as reader:
        survey = Survey(reader, NO_ATTACHMENTS)
        context = ScanContext(
            survey.namespaces,
            survey.namespace_objects,
            survey.world(load_user_inputs(options.world, note)),
            plural_of=reader.discovery.plural,
        )
        yield Needs(policies, list(survey.objects(policies)), context)


@dataclass(frozen=True, slots=True)
class ListedException:
    """An exception, the environments that have it, and its marks by name (empty: it has none)."""

    exception: FiledException
    environments: tuple[str, ...]
    marks: dict[str, str]


def listed_exceptions(
    files: Sequence[Path], project: Project | None, names: Sequence[str], note: Note
) -> list[ListedException]:
    """Return the exceptions of files, or of the project's environments (names: of these alone);
    note: called with a row for each file of a folder that cannot be read.

    Raise InputError.
    """
    if project is None:
        named = [NamedFile(file, Location(str(file))) for file in files]
        return [ListedException(filed(each), (), {}) for each in read_files(named, note)]
    chosen = [one for name in names for one in project.environments_of(name)]
    found: dict[tuple[str, int, str], tuple[FiledException, list[str]]] = {}
    for environment in chosen or project.environments.values():
        for resource in read_files(environment.exceptions, note):
            location = resource.location
            key = (location.file, location.line, location.path)
            found.setdefault(key, (filed(resource), []))[1].append(environment.name)
    wanted = project.exception_rules.annotations
    return [
        ListedException(
            each, tuple(names), {name: each.marked([name]).get(name, "") for name in wanted}
        )
        for each, names in found.values()
    ]


def listing(found: Sequence[ListedException], now: datetime) -> CommandReport:
    """Return the list for every format."""
    return CommandReport(
        text=lambda _width: _list_text(found, now),
        value=lambda: {"exceptions": [_list_body(exception, now) for exception in found]},
        rows="exceptions",
    )


def _list_text(found: Sequence[ListedException], now: datetime) -> Iterator[Block]:
    if not found:
        yield "no exceptions"
        return
    head = [*_HEADINGS[:3], *map(str.upper, found[0].marks), *_HEADINGS[3:]]
    yield Table(head, [_cells(listed, now) for listed in found])


def _cells(each: ListedException, now: datetime) -> list[str]:
    exception = each.exception
    end = exception.expires
    said = "never" if end is None else f"{end.date()}{' (ended)' if end <= now else ''}"
    return [
        shown(exception.resource.name),
        shown(", ".join(exception.policies)),
        said,
        *(shown(value or "-") for value in each.marks.values()),
        ", ".join(each.environments) or "-",
        str(exception.resource.location),
    ]


def _list_body(each: ListedException, now: datetime) -> Body:
    exception = each.exception
    end = exception.expires
    return {
        "name": exception.resource.name,
        "namespace": exception.resource.namespace,
        "apiVersion": exception.resource.api_version,
        "policies": list(exception.policies),
        "ends": end.isoformat() if end else None,
        "ended": end is not None and end <= now,
        "marks": each.marks,
        "environments": list(each.environments),
        "location": str(exception.resource.location),
    }


def check_report(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> CommandReport:
    """Return what is wrong with exceptions for every format."""
    return CommandReport(
        text=lambda _width: _check_text(filed_, found),
        value=lambda: {
            "exceptions": len(filed_),
            "findings": list(map(diagnostic_entry, found)),
        },
        rows="findings",
        findings=lambda: map(diagnostic_finding, found),
    )


def _check_text(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> Iterator[str]:
    for finding in found:
        place = f"{finding.location}: " if finding.location else ""
        yield f"{finding.severity}  {place}{shown(finding.message)} [{finding.rule_id}]"
        if finding.hint:
            yield f"  → {shown(finding.hint)}"
    counts = Counter(finding.severity for finding in found)
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    yield (
        f"{counted(len(filed_), 'exception')}, {counted(errors, 'error')}, "
        f"{counted(warnings, 'warning')}"
    )
