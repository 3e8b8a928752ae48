"""`chartkit promote`: from Audit to Enforce by evidence.

`sources` reads evidence, also what Kyverno reported; `decision` puts the policies of an environment
before its objects and decides about each. Here are the plan that options ask for and what it
writes; `files` has the texts. Imports `render` and below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final

from chartkit.addons.operate.promote.decision import (
    Judge,
    candidates_of,
    chosen,
    decided,
    only_audits,
    policy_name,
)
from chartkit.addons.operate.promote.files import (
    FILE_NAME,
    ProjectText,
    decision,
    last_promotion,
    promoted,
    read_decisions,
    way_back,
    with_entry,
)
from chartkit.addons.operate.promote.model import (
    Candidate,
    Evidence,
    Plan,
    PlannedPolicy,
    PromoteOptions,
    Verdict,
)
from chartkit.addons.operate.promote.sources import EvidenceReader, permission
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.policies.chart import read_libraries
from chartkit.documents.reader import read_file, read_source, read_text
from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import InputError
from chartkit.library.profiles import resolve_environment
from chartkit.model import Body, Location, gathered, mapping_at, mappings_at
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import write_together
from chartkit.project.environment import Environment
from chartkit.project.project import Project, parse_project, read_project
from chartkit.project.settings import Action
from chartkit.render.environment import project_environment
from chartkit.scan.exceptions.written import exception_of
from chartkit.scan.gate import written_rule
from chartkit.scan.gate.suppressions import Suppression

Texts = dict[Path, str | None]
"""Files to write by path, None for one to remove."""
_REASON: Final = "violated the policy when it was promoted to Enforce"
_HERE: Final = Location("promotions.yaml")


@dataclass(frozen=True, slots=True)
class Promotion:
    """plan: of the environment; files: what carrying it out writes; back: the policies whose
    promotion is taken back."""

    plan: Plan
    files: Texts
    candidates_only: bool = False
    back: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Report whether nothing may be written: an input could not be read, a policy that was
        named is held back, or none of the candidates is ready."""
        if self.back:
            return False
        if self.plan.unread:
            return True
        held = bool(self.plan.of(Verdict.HELD))
        ready = bool(self.plan.of(Verdict.PROMOTE))
        return held and not (self.candidates_only and ready)


def promote(options: PromoteOptions) -> Promotion:
    """Return the plan that options ask for, and the files that it would write; write nothing. Raise
    InputError for what cannot be used, RenderError where charts do not render, SourceError where a
    cluster does not answer."""
    if options.candidates == bool(options.policies):
        raise InputError("name policies, or give --candidates")
    if options.back and options.candidates:
        raise InputError("--back needs the names of policies")
    if options.source and not options.candidates:
        raise InputError("--from chooses among --candidates")
    if options.context and not options.cluster:
        raise InputError("--context needs --cluster")
    if options.reporter and not options.allowed_hosts:
        hint = permission(options.reporter)
        raise InputError("--policy-reporter needs the network", hint=hint)
    if options.source == options.target:
        hint = "name the environment whose policies are enforced already"
        raise InputError("--from and --to name the same environment", hint=hint)
    if "" in options.namespaces:
        message = "'' is not a name of a namespace"
        raise InputError(message, hint="--namespaces NAME, * for any letters")
    project = read_project(options.path)
    targets = _targets(project, options.target)
    today = datetime.now(UTC).date()
    if options.back:
        return _taken_back(project, options, today)
    plans = [_plan(project, environment, options) for environment in targets]
    plan = plans[0] if len(plans) == 1 else _joined(options.target, plans)
    promotion = Promotion(plan, {}, options.candidates)
    if promotion.is_refused or not plan.of(Verdict.PROMOTE):
        return promotion
    return Promotion(plan, _files(project, plan, options, today), options.candidates)


def write(promotion: Promotion, root: Path) -> None:
    """Write the files of a promotion, all of them or none; raise InputError."""
    for path in promotion.files:
        atomic_folder.require_inside(path, root)
    write_together(promotion.files)


def _targets(project: Project, name: str) -> list[Environment]:
    """Return the environment of a name, or its clusters if it has some."""
    clusters = [other for other in project.environments.values() if other.group == name]
    return clusters or [project.environment(name)]


def _plan(project: Project, environment: Environment, options: PromoteOptions) -> Plan:
    target = project_environment(project, environment)
    candidates, policies = candidates_of(target, _names(project, environment))
    wanted = chosen(options, candidates, _enforced(project, options))
    notes: list[str] = []
    reading = EvidenceReader(Judge(wanted, target, options), policies, options, notes)
    if wanted:
        reading.workloads(project, environment)
        reading.given()
        reading.live()
    planned = tuple(decided(candidate, options) for candidate in wanted)
    notes += (str(diagnostic) for diagnostic in policies.diagnostics)
    sources, unread = tuple(reading.sources.items()), tuple(reading.unread)
    return Plan(environment.name, options.namespaces, planned, sources, tuple(notes), unread)


def _names(project: Project, environment: Environment) -> list[str]:
    library = read_libraries(project)
    return list(resolve_environment(environment, library, project.root).policies)


def _enforced(project: Project, options: PromoteOptions) -> frozenset[str] | None:
    """Return the policies that the environment of --from enforces, None without it."""
    if options.source is None:
        return None
    enforced: list[set[str]] = []
    for environment in _targets(project, options.source):
        source = project_environment(project, environment)
        candidates, _ = candidates_of(source, _names(project, environment))
        enforced.append(
            {item.name for item in candidates if not only_audits(item, options.namespaces)}
        )
    return frozenset(set.intersection(*enforced))


def _joined(name: str, plans: Sequence[Plan]) -> Plan:
    """Return the plan of an environment with clusters: a policy is held back where one holds it."""
    by_name = gathered(
        (policy.candidate.name, policy) for plan in plans for policy in plan.policies
    )
    sources = [(f"{plan.environment}: {source}", n) for plan in plans for source, n in plan.sources]
    notes = [f"{plan.environment}: {note}" for plan in plans for note in plan.notes]
    policies = tuple(_of_clusters(planned_policies) for planned_policies in by_name.values())
    unread = tuple(dict.fromkeys(row for plan in plans for row in plan.unread))
    return Plan(name, plans[0].namespaces, policies, tuple(sources), tuple(notes), unread)


def _of_clusters(plans: Sequence[PlannedPolicy]) -> PlannedPolicy:
    evidence = Evidence()
    for policy in plans:
        evidence.merge(policy.candidate.evidence)
    order = (Verdict.HELD, Verdict.PROMOTE, Verdict.DONE)
    verdict = min((planned_policy.verdict for planned_policy in plans), key=order.index)
    first = plans[0].candidate
    caveats = tuple(dict.fromkeys(caveat for plan in plans for caveat in plan.candidate.caveats))
    reasons = tuple(dict.fromkeys(reason for plan in plans for reason in plan.reasons))
    candidate = Candidate(first.name, first.compiled, evidence, caveats)
    exceptions = sum(plan.exceptions for plan in plans) if verdict is Verdict.PROMOTE else 0
    return PlannedPolicy(candidate, verdict, reasons, exceptions)


def _files(project: Project, plan: Plan, options: PromoteOptions, today: date) -> Texts:
    """Return the texts of chartkit.yaml, promotions.yaml and the exceptions after a plan."""
    text = _text(project, plan.environment)
    names = [policy.candidate.name for policy in plan.of(Verdict.PROMOTE)]
    before = {name: text.settings(name) for name in names}
    text = text.with_actions({name: promoted(before[name], plan.namespaces) for name in names})
    files: Texts = {}
    until = today + timedelta(days=options.exception_days)
    bodies = [
        body
        for planned in plan.of(Verdict.PROMOTE)
        if planned.exceptions
        for body in _exceptions(planned, until)
    ]
    unique = {body["metadata"]["name"]: body for body in bodies}
    written = dump_documents(unique.values()) if unique else ""
    file = ""
    if written:
        start = f"exceptions/{plan.environment.replace('/', '_')}/promotion-{today}"
        taken_names = (f"{start}{f'-{number}' if number > 1 else ''}.yaml" for number in count(1))
        file = next(name for name in taken_names if not (project.root / name).exists())
        files[project.root / file] = written
        text = text.with_exceptions(file)
    entry = decision(plan, today, before, file)
    record = project.root / FILE_NAME
    read_decisions(record)
    files[record] = with_entry(record, entry)
    files[project.file] = text.text
    edited = parse_project(read_text(text.text, str(project.file))[0], project.file)
    for environment in _targets(edited, plan.environment):
        for name in names:
            named = environment.policies.items()
            entries = (entry for key, entry in named if key.rpartition("/")[2] == name)
            settings = next(entries, None)
            enforced = settings is not None and settings.action is Action.ENFORCE
            if not plan.namespaces and not enforced:
                location = settings.action_at if settings else None
                hint = "change it there"
                message = f"{environment.name} gives {name} another action than {plan.environment}"
                raise InputError(message, location, hint)
    return files


def _text(project: Project, environment: str) -> ProjectText:
    name, _, cluster = environment.partition("/")
    path = ("environments", name, *(("clusters", cluster) if cluster else ()))
    return ProjectText(read_source(project.file), path, project.file)


def _taken_back(project: Project, options: PromoteOptions, today: date) -> Promotion:
    record = project.root / FILE_NAME
    entries = read_decisions(record)
    before: dict[str, Body] = {}
    excepted: dict[str, list[str]] = {}
    for name in dict.fromkeys(options.policies):
        promotion = last_promotion(entries, options.target, name)
        if promotion is None:
            hint = f"set its action under environments.{options.target}.policies by hand"
            message = f"no promotion of '{name}' in {options.target} is to be taken back"
            raise InputError(message, Location(str(record)), hint)
        before[name] = mapping_at(promotion, "before")
        if file := mapping_at(promotion, "exceptions").get("file"):
            excepted.setdefault(str(file), []).append(name)
    text = _text(project, options.target).with_actions(before)
    entry = way_back(options.target, list(before), today)
    files: Texts = {record: with_entry(record, entry)}
    for file, names in excepted.items():
        path = project.root / file
        atomic_folder.require_inside(path, project.root)
        files[path] = _text_without(path, names) if path.is_file() else None
        if files[path] is None:
            text = text.without_exceptions(file)
    files[project.file] = text.text
    gone = [file for file in excepted if not (project.root / file).is_file()]
    notes = tuple(f"{file} was taken out already" for file in gone)
    return Promotion(Plan(options.target, (), (), (), notes), files, back=tuple(before))


def _text_without(file: Path, policies: Sequence[str]) -> str | None:
    """Return the text of a file without the exceptions of some policies, None if nothing is left;
    an exception for another policy as well stays whole. Raise InputError."""
    kept = []
    for document in read_file(file):
        spec = mapping_at(document.body, "spec")
        named = [exception.get("policyName") for exception in mappings_at(spec, "exceptions")]
        named += [reference.get("name") for reference in mappings_at(spec, "policyRefs")]
        if not named or any(policy_name(str(name), policies) not in policies for name in named):
            kept.append(document)
    texts = (document.source.text[document.start : document.end].strip("\n") for document in kept)
    parts = [text.removeprefix("---").strip("\n") for text in texts]
    return "---\n".join(f"{part}\n" for part in parts) if any(parts) else None


def _exceptions(planned: PlannedPolicy, until: date) -> Iterator[Body]:
    """Yield an exception for each object and rule, for each form of the policy."""
    name = planned.candidate.name
    for violation in planned.candidate.evidence.blocked:
        suppression = Suppression(name, written_rule(violation.rule), _REASON, until, _HERE)
        for policy in planned.candidate.compiled:
            body = exception_of(replace(violation.resource), suppression, policy, NAMESPACE)
            if body is not None:
                yield body
