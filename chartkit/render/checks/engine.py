"""Checks with the bundled engine: policies compile, and workloads pass them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import StringIO

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.documents.unread import UNREADABLE, project_patterns, unread_at
from chartkit.engine import (
    ENFORCE,
    Cleaner,
    PolicyAttachments,
    Reason,
    RunnablePolicy,
    is_exception,
    is_policy,
    read_exceptions,
)
from chartkit.engine.kubernetes.definitions import WARNING_RULE
from chartkit.engine.kubernetes.kinds import in_namespace, is_binding
from chartkit.errors import InputError
from chartkit.helm.render import WARNING_RULE as HELM_RULE
from chartkit.helm.render import hook_moments
from chartkit.kyverno.controllers import allows_http
from chartkit.library.policies import LibraryPolicy
from chartkit.library.templating import source_location
from chartkit.model import Diagnostic, Location, Resource, RuleResult, Severity, Status, mapping_at
from chartkit.project.project import Project
from chartkit.project.settings import Workload
from chartkit.render.chart import Chart, CheckTarget
from chartkit.render.checks.exclusions import Unsent, asks_kyverno
from chartkit.render.checks.permissions import AcceptedViolations
from chartkit.render.exceptions import heeded
from chartkit.render.model import HELM_WARNINGS, POLICIES, Outcome, Row, findings, own_folders, rows
from chartkit.report.model import field_places, rule_id
from chartkit.scan.inputs import ChartOptions, is_chart, is_definition, read_inputs
from chartkit.scan.policies import PolicySet, as_refusals, compile_all, compile_one
from chartkit.scan.run import ScanContext, namespace_labels, namespaces_among, run_scan
from chartkit.scan.user_inputs import UserInputs
from chartkit.wording import abridged, counted

TEST_HOOK = "test"
_SHOWN = frozenset({Status.FAIL, Status.ERROR, Status.WARN})


def compiled_set(resources: Iterable[Resource], allows_http: bool = False) -> PolicySet:
    """Compile each policy, with the bindings and exceptions among them; what does not compile
    becomes diagnostics. The same texts give one and the same set.

    allows_http: whether the controllers let policies of a namespace call services. Raise
    CompileError for an exception that Kyverno refuses.
    """
    return _set(tuple((json.dumps(item.body), item.location) for item in resources), allows_http)


@lru_cache(maxsize=2048)
def _set(texts: tuple[tuple[str, Location], ...], allows_http: bool) -> PolicySet:
    resources = [Resource(json.loads(body), location) for body, location in texts]
    around = replace(read_exceptions(resources), allows_http=allows_http)
    if around.exceptions or around.cel_exceptions:
        return compile_all(resources, around)
    return compile_all(resources, around, _remembered)


def _remembered(resource: Resource, around: PolicyAttachments) -> RunnablePolicy | Cleaner:
    bindings = tuple(json.dumps(binding.body) for binding in around.bindings)
    return _compiled(json.dumps(resource.body), resource.location, bindings, around.allows_http)


@lru_cache(maxsize=2048)
def _compiled(
    body: str, location: Location, bindings: tuple[str, ...], allows_http: bool
) -> RunnablePolicy | Cleaner:
    bound = tuple(Resource(json.loads(binding)) for binding in bindings)
    around = PolicyAttachments(bindings=bound, allows_http=allows_http)
    return compile_one(Resource(json.loads(body), location), around)


Workloads = tuple[tuple[Resource, ...], tuple[Diagnostic, ...]]
"""The objects of a workload, and Helm's warnings with a row for each input that cannot be read."""


def compiled_policies(subject: CheckTarget, carried: Sequence[LibraryPolicy]) -> PolicySet:
    """Return the environment's policies as Helm rendered them, compiled; carried: the policies of
    the chart, whose files are the places of mistakes."""
    sources = {policy.name: policy for policy in carried}
    resources = subject.policies.rendered().resources
    engine = () if subject.engine is None else subject.engine.rendered().resources
    policies = (
        Resource(resource.body, source_location(sources[resource.name], resource))
        if resource.name in sources and is_policy(resource)
        else resource
        for resource in resources
        if is_policy(resource) or is_binding(resource) or _is_heeded(resource, subject)
    )
    definitions = filter(is_definition, objects_beside(subject))
    return compiled_set((*policies, *definitions), allows_http(engine))


def objects_beside(subject: CheckTarget) -> list[Resource]:
    """Return the objects of the workloads and further charts of an environment."""
    objects = [resource for load in subject.workloads for resource in _objects(subject, load)[0]]
    for chart in subject.others:
        rendered = chart.rendered()
        objects += (*rendered.crds, *rendered.resources)
    return objects


def _is_heeded(resource: Resource, subject: CheckTarget) -> bool:
    """Report whether an object is an exception that Kyverno is known to read."""
    if not is_exception(resource):
        return False
    if subject.engine is None:
        return True
    features = mapping_at(subject.engine.lint_subject().values, "features")
    return heeded(features, resource.namespace)


def policies_compile(subject: CheckTarget, compiled: PolicySet) -> Iterable[Row]:
    """Check that every rendered policy compiles."""
    location = subject.policies.values.location
    right = counted(
        len(compiled.policies) + len(compiled.cleanup), "policy compiles", "policies compile"
    )
    warned = (diagnostic for diagnostic in compiled.warnings if diagnostic.rule_id != WARNING_RULE)
    diagnostics = as_refusals((*compiled.diagnostics, *warned))
    return rows(subject.environment.name, POLICIES, diagnostics, right, location)


def workloads(
    subject: CheckTarget, compiled: PolicySet, unsent: Unsent, accepted: AcceptedViolations
) -> Iterable[Row]:
    """Check what the policies report for the project's workloads."""
    env = subject.environment
    if not subject.workloads:
        message = "chartkit.yaml names no workloads to scan"
        yield Row(env.name, "workloads", Outcome.NOTE, message, env.locate())
    for workload in subject.workloads:
        resources, notes = _objects(subject, workload)
        shown = workload.path.as_posix()
        for note in notes:
            check = HELM_WARNINGS if note.rule_id == HELM_RULE else note.rule_id
            yield from findings(env.name, check, [note], workload.location)
        what = ("workloads", shown)
        location = workload.location
        yield from _scan(subject, compiled, unsent, accepted, resources, what, location)


def own_pods(
    subject: CheckTarget, compiled: PolicySet, unsent: Unsent, accepted: AcceptedViolations
) -> Iterable[Row]:
    """Check what the policies report for Kyverno's own pods, and for charts installed with it. Pods
    of `helm test` do not count."""
    if subject.engine is not None:
        what = ("engine's pods", "Kyverno's own")
        yield from _own(subject, compiled, unsent, accepted, subject.engine, what)
    for chart in subject.others:
        what = ("workloads", chart.name)
        yield from _own(subject, compiled, unsent, accepted, chart, what)


def _own(
    subject: CheckTarget,
    compiled: PolicySet,
    unsent: Unsent,
    accepted: AcceptedViolations,
    chart: Chart,
    what: tuple[str, str],
) -> Iterable[Row]:
    rendered = chart.rendered()
    hooks = [resource for resource in rendered.hooks if hook_moments(resource) != {TEST_HOOK}]
    resources = [in_namespace(resource, NAMESPACE) for resource in (*rendered.resources, *hooks)]
    return _scan(subject, compiled, unsent, accepted, resources, what, chart.values.location)


def _objects(subject: CheckTarget, workload: Workload) -> Workloads:
    return read_workload(subject.project, workload, subject.environment.kube_version)


def read_workload(project: Project, workload: Workload, kube_version: str) -> Workloads:
    """Return the objects of a workload that can be read, without what the project leaves out and
    without those of its own folders, with Helm's warnings and a row for each input that cannot;
    raise InputError for a path that is not there."""
    if not workload.path.exists():
        hint = "workloads are manifests, folders or charts; paths start at chartkit.yaml's folder"
        raise InputError(f"there is no '{workload.path}'", workload.location, hint)
    own = (*own_folders(project, workload.path), *project_patterns(project.file))
    return _read(workload, kube_version if is_chart(workload.path) else "", own)


@lru_cache(maxsize=256)
def _read(workload: Workload, kube_version: str, own: tuple[str, ...]) -> Workloads:
    """Read a workload once for all environments; own: the project's patterns of other files."""
    options = ChartOptions(
        values=workload.values,
        release=workload.release,
        namespace=workload.namespace,
        kube_version=kube_version or None,
    )
    notes: list[Diagnostic] = []
    try:
        objects = read_inputs([str(workload.path)], StringIO(), notes.append, options, excluded=own)
    except UNREADABLE as error:
        return (), (*notes, unread_at(Location(str(workload.path)), error))
    return tuple(in_namespace(resource, workload.namespace) for resource in objects), tuple(notes)


def _scan(
    subject: CheckTarget,
    compiled: PolicySet,
    unsent: Unsent,
    accepted: AcceptedViolations,
    objects: Sequence[Resource],
    what: tuple[str, str],
    location: Location,
) -> list[Row]:
    """Scan objects; what: the check's name, and a word for the objects."""
    by_id = {policy.policy.id: policy for policy in compiled.policies}
    labels = namespace_labels(namespaces_among(objects))
    env = subject.environment.name
    found_rows: list[Row] = []
    away = [_UnsentObject(resource, unsent.reasons(resource, labels)) for resource in objects]
    order = iter(away)

    def take(resource: Resource, results: Sequence[RuleResult]) -> None:
        # The violations of an object that count; those of policies that are not sent it are only
        # counted.
        given = next(order)
        shown = [result for result in results if result.status in _SHOWN]
        if given.reasons:
            judged = [result for result in shown if not asks_kyverno(by_id[result.policy_id])]
            given.violations += len(shown) - len(judged)
            shown = judged
        own = labels.get(resource.namespace, {})
        violations = [
            # A ClusterPolicy has its name for an ID: one in CEL may stand next to it.
            _violation((env, what[0]), resource, result, by_id[result.policy_id], own, by_id)
            for result in shown
        ]
        refused = {at for at, row in enumerate(violations) if row.outcome is Outcome.FAIL}
        left = accepted.take(resource, shown, refused)
        found_rows.extend(row for at, row in enumerate(violations) if at not in left)

    world = UserInputs().world(compiled.policies, objects, compiled.names)
    context = ScanContext(labels, world=world, custom=compiled.names)
    run_scan(compiled.policies, objects, take, context)
    # What is kept from Kyverno of its own objects is as everyone wants it.
    kept = [item for item in away if item.reasons] if what[0] == "workloads" else []
    counts = " that counts" if any(item.violations for item in away) else ""
    right = f"{what[1]}: {counted(len(objects), 'object', 'objects')}, no violation{counts}"
    return rows(env, what[0], _kept_away(unsent, kept), right, location, found_rows)


@dataclass(slots=True)
class _UnsentObject:
    """An object, the reasons why it is not sent to Kyverno (none if it is), and the number of
    violations that it would have."""

    resource: Resource
    reasons: Sequence[Reason]
    violations: int = 0


def _kept_away(unsent: Unsent, kept: Sequence[_UnsentObject]) -> Iterator[Diagnostic]:
    """Yield a note for each filter, with the objects that it keeps from Kyverno."""
    by_place: dict[Location | None, list[_UnsentObject]] = {}
    for unsent_object in kept:
        by_place.setdefault(unsent.locate(unsent_object.reasons[0]), []).append(unsent_object)
    for location, objects in by_place.items():
        # Those with violations come first.
        ordered = sorted(objects, key=lambda item: not item.violations)
        shown = abridged([_identity(item.resource) for item in ordered])
        reasons = abridged(list(dict.fromkeys(str(item.reasons[0]) for item in ordered)), 1)
        violations = sum(item.violations for item in objects)
        message = f"not sent to Kyverno: {reasons}: {shown}"
        if violations:
            message += f"; {counted(violations, 'violation does', 'violations do')} not count"
        yield Diagnostic("unsent", Severity.NOTE, message, location)


def _identity(resource: Resource) -> str:
    return "/".join(filter(None, (resource.kind, resource.namespace, resource.name)))


def _violation(
    row: tuple[str, str],
    resource: Resource,
    result: RuleResult,
    policy: RunnablePolicy,
    labels: dict[str, str],
    names: Container[str],
) -> Row:
    """The row about a violation, at the field or chart's value to change."""
    action = policy.action(result.rule, resource.namespace, labels)
    refused = action == ENFORCE and result.status is not Status.WARN
    name = rule_id(result)
    name += f" ({result.kind})" if result.kind and result.policy in names else ""
    subject = _identity(resource)
    message = f"{subject}: {name}: {' '.join(result.message.split())}"
    hint = "fix it, exclude it, or set the policy to Audit" if refused else "Audit: reported only"
    field = next(iter(field_places(resource, result, 1)), None)
    location = resource.location if field is None else field.value or field.location
    outcome = Outcome.FAIL if refused else Outcome.WARNING
    return Row(*row, outcome, message, location, hint, result.policy, subject)
