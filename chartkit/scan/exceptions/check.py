"""Faults in a project's PolicyExceptions: which objects need them, by the engine, and which
narrower ones suffice; the reports of `chartkit exceptions list` and `check`."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from chartkit.engine import NO_ATTACHMENTS, PolicyAttachments, RunnablePolicy, read_exceptions
from chartkit.engine.cel_policies.exceptions import read_cel_exception, without_effect
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.kubernetes.kinds import CEL_GROUP, KYVERNO_GROUP, group_of
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import CompileError, InputError
from chartkit.model import (
    Body,
    Diagnostic,
    Location,
    Resource,
    RuleResult,
    Severity,
    Status,
    mapping_at,
    mappings_at,
)
from chartkit.network.cluster.recording import is_recording
from chartkit.project.project import ExceptionRules, Project
from chartkit.project.settings import NamedFile
from chartkit.report.command_report import Block, CommandReport, Table
from chartkit.report.finding import diagnostic_entry
from chartkit.safe_text import shown
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.exceptions.model import FiledException, filed, lifetime, read_files
from chartkit.scan.gate import written_rule
from chartkit.scan.gate.selection import rule_names
from chartkit.scan.inputs import Note
from chartkit.scan.policies import compile_one
from chartkit.scan.requests import RequestOptions, load_named_policies, load_requests
from chartkit.scan.run import ScanContext, run_scan
from chartkit.scan.user_inputs import load_user_inputs
from chartkit.suggestions import suggestion
from chartkit.wording import counted

UNKNOWN: Final = "unknown-policy"
UNKNOWN_RULE: Final = "unknown-rule"
UNUSED: Final = "unused"
WIDE: Final = "too-wide"
_HEADINGS = ("NAME", "POLICIES", "ENDS", "ENVIRONMENTS", "LOCATION")
_VIOLATIONS = frozenset({Status.FAIL, Status.WARN})
_ANY = ("*", "?*")


def check(
    exceptions: Sequence[FiledException],
    policies: Sequence[RunnablePolicy],
    needs: Needs | None,
    rules: ExceptionRules,
    now: datetime,
    soon_days: int,
) -> Iterator[Diagnostic]:
    """Yield what is wrong with exceptions. policies: those that they may be from, compiled without
    exceptions; needs: of the objects that there are, None where there are none; soon_days: see
    `lifetime`."""
    names = {name for policy in policies for name in (policy.policy.key, policy.policy.name)}
    for exception in exceptions:
        yield from lifetime(exception, rules, now, soon_days)
        resource = exception.resource
        idle = list(_unknown(exception, policies))
        if not exception.is_legacy:
            cel_exception = read_cel_exception(resource)
            for policy in policies:
                if isinstance(policy.policy, CelPolicy):
                    idle += without_effect(policy.policy, [cel_exception])
        yield from idle
        is_idle = any(row.rule_id not in (UNKNOWN, UNKNOWN_RULE) for row in idle)
        if is_idle or names.isdisjoint(exception.policies) or needs is None or not exception.forms:
            continue
        lifted = needs.lifted(exception.forms)
        if not lifted:
            message = f"no object needs exception {resource.name}"
            hint = "take it out, or scan the objects that it is for"
            yield Diagnostic(UNUSED, Severity.WARNING, message, resource.location, hint)
            continue
        # What is installed is narrowed where it is as the file has it.
        narrowed = narrower(resource, lifted, needs) if exception.forms == (resource,) else None
        if narrowed is not None:
            steps = "; ".join(narrowed.steps)
            message = f"exception {resource.name} is wider than what needs it: {steps}"
            hint = "a narrower one exempts the same objects"
            yield Diagnostic(WIDE, Severity.WARNING, message, resource.location, hint)


def _unknown(exception: FiledException, policies: Sequence[RunnablePolicy]) -> Iterator[Diagnostic]:
    """Yield the missing policies and rules that an exception names, or that it names none."""
    resource = exception.resource
    if not exception.policies:
        key = "exceptions" if exception.is_legacy else "policyRefs"
        yield _exempts_nothing(resource, f"/spec/{key}", "no policy", f"spec.{key}")
    by_name = {name: other for other in policies for name in (other.policy.key, other.policy.name)}
    for name in exception.policies:
        if name not in by_name:
            message = f"exception {resource.name} names policy '{name}', which does not exist"
            hint = suggestion(name, by_name) or "take it out, or correct the name"
            yield Diagnostic(UNKNOWN, Severity.ERROR, message, resource.location, hint)
    for index, entry in enumerate(mappings_at(resource.body["spec"], "exceptions")):
        policy = by_name.get(str(entry.get("policyName")))
        if policy is None or not isinstance(policy.policy, Policy):
            continue
        if not entry.get("ruleNames"):
            path = f"/spec/exceptions/{index}/ruleNames"
            yield _exempts_nothing(resource, path, f"no rule of {policy.policy.key}", "ruleNames")
        names = rule_names(policy)
        for at, rule in enumerate(entry.get("ruleNames") or ()):
            if not any(map(compile_wildcard(str(rule)), names)):
                location = resource.location.within(f"/spec/exceptions/{index}/ruleNames/{at}")
                message = f"exception {resource.name} names rule '{rule}' of {policy.policy.key}, "
                message += "which does not exist"
                hint = suggestion(str(rule), names) or f"its rules are {', '.join(names)}"
                yield Diagnostic(UNKNOWN_RULE, Severity.ERROR, message, location, hint)


def _exempts_nothing(resource: Resource, path: str, lacks: str, key: str) -> Diagnostic:
    message = f"exception {resource.name} names {lacks}: it exempts nothing"
    hint = f"name what it is for under {key}, or take it out"
    return Diagnostic(UNUSED, Severity.WARNING, message, resource.location.within(path), hint)


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
    from chartkit.scan.cluster import Survey, open_cluster
    from chartkit.scan.cluster_source import ClusterSource

    source = ClusterSource(recording=recordings[0], namespace=options.inputs.only_namespace)
    with open_cluster(source) as reader:
        survey = Survey(reader, NO_ATTACHMENTS)
        context = ScanContext(
            survey.namespaces,
            survey.namespace_objects,
            survey.world(load_user_inputs(options.world, note)),
            plural_of=reader.discovery.plural,
        )
        yield policies, Needs(policies, list(survey.objects(policies)), context)


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
    note: called with a row for each file of a folder that cannot be read. Raise InputError."""
    if project is None:
        named = [NamedFile(file, Location(str(file))) for file in files]
        return [ListedException(filed(resource), (), {}) for resource in read_files(named, note)]
    chosen = [item for name in names for item in project.environments_of(name)]
    by_place: dict[tuple[str, int, str], tuple[FiledException, list[str]]] = {}
    for environment in chosen or project.environments.values():
        for resource in read_files(environment.exceptions, note):
            location = resource.location
            key = (location.file, location.line, location.path)
            by_place.setdefault(key, (filed(resource), []))[1].append(environment.name)
    wanted = project.exception_rules.annotations
    return [
        ListedException(
            exception,
            tuple(names),
            {name: exception.marked([name]).get(name, "") for name in wanted},
        )
        for exception, names in by_place.values()
    ]


def listing(exceptions: Sequence[ListedException], now: datetime) -> CommandReport:
    """Return the list for every format."""
    return CommandReport(
        text=lambda _width: _list_text(exceptions, now),
        value=lambda: {"exceptions": [_list_body(exception, now) for exception in exceptions]},
        rows="exceptions",
    )


def _list_text(exceptions: Sequence[ListedException], now: datetime) -> Iterator[Block]:
    if not exceptions:
        yield "no exceptions"
        return
    head = [*_HEADINGS[:3], *map(str.upper, exceptions[0].marks), *_HEADINGS[3:]]
    rows = []
    for listed in exceptions:
        resource, end = listed.exception.resource, listed.exception.expires
        said = "never" if end is None else f"{end.date()}{' (ended)' if end <= now else ''}"
        row = [resource.name, ", ".join(listed.exception.policies)]
        rows.append(
            [
                *map(shown, row),
                said,
                *(shown(value or "-") for value in listed.marks.values()),
                ", ".join(listed.environments) or "-",
                str(resource.location),
            ]
        )
    yield Table(head, rows)


def _list_body(listed: ListedException, now: datetime) -> Body:
    exception = listed.exception
    end = exception.expires
    return {
        "name": exception.resource.name,
        "namespace": exception.resource.namespace,
        "apiVersion": exception.resource.api_version,
        "policies": list(exception.policies),
        "ends": end.isoformat() if end else None,
        "ended": end is not None and end <= now,
        "marks": listed.marks,
        "environments": list(listed.environments),
        "location": str(exception.resource.location),
    }


def check_report(filed_: Sequence[FiledException], faults: Sequence[Diagnostic]) -> CommandReport:
    """Return the faults of exceptions for every format."""
    return CommandReport(
        text=lambda _width: _check_text(filed_, faults),
        value=lambda: {"exceptions": len(filed_), "findings": list(map(diagnostic_entry, faults))},
        rows="findings",
        findings=lambda: faults,
    )


def _check_text(filed_: Sequence[FiledException], rows: Sequence[Diagnostic]) -> Iterator[str]:
    for finding in rows:
        start = f"{finding.location}: " if finding.location else ""
        yield f"{finding.severity}  {start}{shown(finding.message)} [{finding.rule_id}]"
        if finding.hint:
            yield f"  → {shown(finding.hint)}"
    counts = Counter(finding.severity for finding in rows)
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    yield (
        f"{counted(len(filed_), 'exception')}, {counted(errors, 'error')}, "
        f"{counted(warnings, 'warning')}"
    )


@dataclass(frozen=True, slots=True)
class Lifted:
    """A violation that an exception lifts: the object, the policy and the rule of the result."""

    resource: Resource
    policy: str
    rule: str


Key: TypeAlias = tuple[int, str, str]


class Needs:
    """The violations of objects without exceptions, and which of them an exception lifts."""

    def __init__(
        self, policies: Sequence[RunnablePolicy], objects: Sequence[Resource], context: ScanContext
    ) -> None:
        """policies: compiled without exceptions."""
        own = [
            policy
            for policy in policies
            if group_of(policy.policy.resource) in (KYVERNO_GROUP, CEL_GROUP)
        ]
        self._policies = {policy.policy.id: policy for policy in own}
        self._objects = objects
        self._context = context
        self._violations = self._failing(own, range(len(objects)))

    def lifted(self, forms: Sequence[Resource]) -> tuple[Lifted, ...]:
        """Return the violations that are none any more with the exceptions of some objects. Raise
        CompileError for an exception that Kyverno refuses."""
        around = read_exceptions(forms)
        named = [policy for policy in self._policies.values() if _names(around, policy)]
        ids = {runnable_policy.policy.id for runnable_policy in named}
        before = [violation for violation in self._violations if violation[1] in ids]
        places = sorted({violation[0] for violation in before})
        if not places:
            return ()
        compiled: list[RunnablePolicy] = []
        for policy in named:
            with suppress(CompileError):
                excepted = compile_one(policy.policy.resource, around)
                if isinstance(excepted, type(policy)):
                    compiled.append(excepted)
        after = set(self._failing(compiled, places))
        return tuple(
            Lifted(self._objects[at], self._policies[policy_id].policy.key, rule)
            for at, policy_id, rule in before
            if (at, policy_id, rule) not in after
        )

    def _failing(self, policies: Sequence[RunnablePolicy], places: Iterable[int]) -> list[Key]:
        """Return the violations of the objects at some places, by place, policy and rule."""
        keys: list[Key] = []
        at = list(places)
        order = iter(at)

        def take(_: Resource, results: Sequence[RuleResult]) -> None:
            index = next(order)
            failing = (result for result in results if result.status in _VIOLATIONS)
            keys.extend((index, result.policy_id, result.rule) for result in failing)

        run_scan(policies, [self._objects[index] for index in at], take, self._context)
        return keys


def _names(around: PolicyAttachments, policy: RunnablePolicy) -> bool:
    parsed = policy.policy
    if group_of(parsed.resource) == KYVERNO_GROUP:
        excepted = (entry for exception in around.exceptions for entry in exception.excepted)
        return any(entry.policy == parsed.key for entry in excepted)
    names = (name for exception in around.cel_exceptions for _, name in exception.references)
    return parsed.name in names


@dataclass(frozen=True, slots=True)
class Narrower:
    """An exception that suffices; steps: what it leaves out, in words."""

    body: Body
    steps: tuple[str, ...]


def narrower(resource: Resource, lifted: Sequence[Lifted], needs: Needs) -> Narrower | None:
    """Return a narrower exception than one that lets the same objects off, None where the engine
    shows none; lifted: what the exception lifts."""
    wanted = set(map(_key, lifted))
    body, steps = resource.body, list[str]()
    for text, candidate in _candidates(resource.body, lifted):
        kind, value = candidate
        narrowed = copy.deepcopy(body)
        spec: Body = narrowed["spec"]
        if kind == "policyRef":
            spec["policyRefs"] = [ref for ref in spec["policyRefs"] if ref.get("name") != value]
        elif kind == "policy":
            spec["exceptions"] = [
                ref for ref in spec["exceptions"] if ref.get("policyName") != value
            ]
        elif kind == "rule" and isinstance(value, tuple):
            for entry in spec["exceptions"]:
                if entry.get("policyName") == value[0]:
                    entry["ruleNames"] = [rule for rule in entry["ruleNames"] if rule != value[1]]
        elif kind == "filter":
            spec["match"]["any"] = [filter_ for filter_ in spec["match"]["any"] if filter_ != value]
        elif kind == "namespaces":
            for filter_ in spec["match"]["any"]:
                if _is_wide(mapping_at(filter_, "resources")):
                    filter_.setdefault("resources", {})["namespaces"] = value
        elif kind == "condition":
            expression = f"object.metadata.?namespace.orValue('') in {json.dumps(value)}"
            spec["matchConditions"] = [{"name": "namespaces", "expression": expression}]
        if narrowed == body:
            continue
        try:
            lifts = set(map(_key, needs.lifted([Resource(narrowed, resource.location)])))
        except CompileError:
            continue
        if lifts >= wanted:
            body = narrowed
            steps.append(text)
    return Narrower(body, tuple(steps)) if steps else None


def _key(lifted: Lifted) -> tuple[int, str, str]:
    return id(lifted.resource), lifted.policy, lifted.rule


Change = tuple[str, object]


def _candidates(body: Body, lifted: Sequence[Lifted]) -> Iterator[tuple[str, Change]]:
    """Yield what may be left out, in words, with the change."""
    spec = mapping_at(body, "spec")
    policies = {item.policy.rpartition("/")[2] for item in lifted}
    for name in dict.fromkeys(str(ref.get("name")) for ref in mappings_at(spec, "policyRefs")):
        if name not in policies:
            yield f"policy {name} is not needed", ("policyRef", name)
    for exception in mappings_at(spec, "exceptions"):
        name = str(exception.get("policyName"))
        if name not in {item.policy for item in lifted}:
            yield f"policy {name} is not needed", ("policy", name)
            continue
        rules = {written_rule(item.rule) for item in lifted if item.policy == name}
        for rule in exception.get("ruleNames") or ():
            fits = compile_wildcard(str(rule))
            if not any(fits(own) or fits(f"autogen-{own}") for own in rules):
                yield f"rule {rule} of {name} is not needed", ("rule", (name, rule))
    if "match" in spec:
        match = mapping_at(spec, "match")
        filters = mappings_at(match, "any")
        for filter_ in filters if len(filters) > 1 else ():
            parts = [
                f"{key} {', '.join(map(str, value))}"
                for key, value in mapping_at(filter_, "resources").items()
                if isinstance(value, list)
            ]
            shown = "; ".join(parts) or "any object"
            yield f"a filter is not needed ({shown})", ("filter", filter_)
        spaces = sorted({item.resource.namespace for item in lifted})
        wide = [filter_ for filter_ in filters if _is_wide(mapping_at(filter_, "resources"))]
        if wide and all(spaces):
            yield f"namespaces {', '.join(spaces)} suffice", ("namespaces", spaces)
    elif not spec.get("matchConditions"):
        spaces = sorted({item.resource.namespace for item in lifted})
        if all(spaces):
            yield f"namespaces {', '.join(spaces)} suffice", ("condition", spaces)


def _is_wide(resources: Body) -> bool:
    """Report whether a filter is for objects of every namespace."""
    names = resources.get("namespaces")
    return not resources.get("namespaceSelector") and (
        not names or any(name in _ANY for name in names)
    )
