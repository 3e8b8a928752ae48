"""All checks of an environment, in order, with those of its pair of versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from chartkit.catalog.policy_lint.findings import at_levels, levels, run_findings
from chartkit.charts.engine import high_availability
from chartkit.charts.engine.values import at_sources
from chartkit.charts.plan import ENGINE
from chartkit.charts.upstream.vendored import Vendored, said
from chartkit.documents.unread import UNREAD
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cleanup import CleanupPolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.cluster_policy.policy_check.warnings import deprecation
from chartkit.engine.kubernetes.definitions import WARNING_RULE as DEFINITION_WARNING
from chartkit.engine.kubernetes.field_faults import minor_of
from chartkit.errors import RenderError
from chartkit.helm.render import WARNING_RULE
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.kyverno import matrix as compat
from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.kyverno.known_faults import known_faults, running_release
from chartkit.kyverno.releases import today
from chartkit.library.policies import LibraryPolicy
from chartkit.model import Diagnostic, Severity
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.project.settings import PolicyType
from chartkit.render.access_reviews import slow_admission
from chartkit.render.chart import ALL, Chart, CheckTarget
from chartkit.render.checks.enforcement import enforcement
from chartkit.render.checks.engine import (
    compiled_policies,
    objects_beside,
    own_pods,
    policies_compile,
    workloads,
)
from chartkit.render.checks.examples import examples
from chartkit.render.checks.exclusions import Unsent, exceptions
from chartkit.render.checks.own_policies import own_policies
from chartkit.render.checks.permissions import AcceptedViolations, permissions
from chartkit.render.manifests import removed_generators
from chartkit.render.model import (
    HELM_WARNINGS,
    OBJECT_FIELDS,
    POLICIES,
    POLICY_WARNINGS,
    Outcome,
    Row,
    findings,
    rows,
)
from chartkit.scan.custom_resources.definitions import read_definitions
from chartkit.scan.ineffective import RULE as SCAN_INPUT
from chartkit.scan.ineffective import ObjectFaults
from chartkit.scan.inputs import is_definition
from chartkit.scan.policies import PolicySet
from chartkit.values.lint import Stage, lint
from chartkit.wording import abridged, counted


def compatibility(subject: CheckTarget) -> Iterable[Row]:
    """Check that this Kyverno supports this Kubernetes."""
    env = subject.environment
    location = env.locate("kyverno")
    verdict = compat.judge(env.kyverno, env.kubernetes, today(), location, env.versions)
    right = f"Kyverno {env.kyverno} supports Kubernetes {env.kubernetes}"
    if env.eks:
        right += " (Amazon EKS)"
    if env.accepted and verdict.supported:
        location = env.locate("compatibility")
        right += "; `compatibility.accept` is not needed"
    diagnostics = compat.diagnostics(verdict, location, env.accepted)
    return rows(env.name, "compatibility", diagnostics, right, location)


def faults(subject: CheckTarget) -> Iterable[Row]:
    """Yield a warning for each policy that meets a known fault of the installed Kyverno release,
    and for each advisory about it that needs no policy of the project."""
    env, engine = subject.environment, subject.engine
    for fault in known_faults(env.versions):
        release, location = env.release, env.locate("kyverno")
        if engine is not None:
            release = running_release(engine.rendered().resources, fault.controller)
        if release is None or not fault.is_in(release):
            continue
        if engine is not None:
            # The tag of the image decides.
            tag = (CONTROLLERS[fault.controller], "image", "tag")
            location = engine.lint_subject().locate(tag)
        policies = list(filter(fault.concerns, subject.policies.rendered().resources))
        check = "known faults" if policies else "advisories"
        messages = [fault.message(release, resource) for resource in policies]
        if not policies and fault.exposure:
            messages = [fault.message(release)]
        for message in messages:
            hint = fault.diagnostic(message, location, release).hint
            yield Row(env.name, check, Outcome.WARNING, message, location, hint)


def values(subject: CheckTarget) -> Iterable[Row]:
    """Check that every key is known, and that every value fits its schema."""
    for chart in subject.charts:
        results = lint(chart.lint_subject(), Stage.VALUES, Stage.REFUSED)
        if chart.files.is_upstream and chart.files.schema() is not None:
            try:
                chart.rendered()
            except RenderError as error:
                location, hint = error.location, error.hint
                results.append(Diagnostic("helm", Severity.ERROR, error.message, location, hint))
        diagnostics = _at_sources(results, chart)
        right, where = f"{chart.name}: every key is known", chart.values.location
        yield from rows(subject.environment.name, "values", diagnostics, right, where)


def helm(subject: CheckTarget) -> Iterable[Row]:
    """Check that Helm lints, renders and admits the charts, and that their objects fit together."""
    for chart in subject.charts:
        rendered = chart.rendered()
        linted = chart.linting.result()
        warned = [*rendered.warnings, *(row for row in linted if row.rule_id == WARNING_RULE)]
        diagnostics = [row for row in linted if row.severity is not Severity.NOTE]
        diagnostics += lint(chart.lint_subject(rendered.resources), Stage.RENDERED)
        diagnostics = _at_sources([*diagnostics, *_dry_run(chart)], chart)
        count = len(rendered.resources)
        right = f"{chart.name}: {counted(count, 'object', 'objects')}; NOTES are shown"
        location = chart.values.location
        env = subject.environment
        yield from rows(env.name, "helm", diagnostics, right, location)
        yield from findings(env.name, HELM_WARNINGS, dict.fromkeys(warned), location)


def availability(subject: CheckTarget) -> Iterable[Row]:
    """Check that the engine is as highly available as the environment requires."""
    env = subject.environment
    if subject.engine is None:
        message = "Kyverno is not installed by this project here (engine: false)"
        yield Row(env.name, "availability", Outcome.NOTE, message, env.locate("engine"))
        return
    resources = subject.engine.rendered().resources
    diagnostics = [
        _placed(diagnostic, subject.engine)
        for diagnostic in high_availability.judge(resources, env.high_availability)
    ]
    counts = ", ".join(
        f"{c.component.removesuffix('-controller')} {c.replicas}"
        for c in kyverno_controllers.controllers(resources)
    )
    wanted = "highly available" if env.high_availability else "need not be highly available"
    where = subject.engine.values.location
    diagnostics = _at_sources(diagnostics, subject.engine)
    yield from rows(env.name, "availability", diagnostics, f"{wanted}; replicas: {counts}", where)


def _at_sources(results: Iterable[Diagnostic], chart: Chart) -> list[Diagnostic]:
    """Return findings at the values files of the project's own that they come from."""
    if chart.name != ENGINE:
        return list(results)
    return list(at_sources(results, chart.environment, chart.layers))


def _dry_run(chart: Chart) -> list[Diagnostic]:
    try:
        notes = chart.notes()
    except RenderError as error:
        return [Diagnostic("helm", Severity.ERROR, error.message, error.location, error.hint)]
    if notes.strip():
        return []
    location = chart.values.location
    return [Diagnostic("helm", Severity.WARNING, f"{chart.name} shows no NOTES", location)]


def _placed(diagnostic: Diagnostic, chart: Chart) -> Diagnostic:
    """Return a finding located at the values that its hint names, if they are there."""
    path = high_availability.values_path(diagnostic)
    if path is not None:
        return replace(diagnostic, location=chart.lint_subject().locate(path))
    return diagnostic


def object_fields(subject: CheckTarget) -> Iterable[Row]:
    """Yield a warning for each kind and field that the objects of workloads and of other charts
    have, and the environment's Kubernetes does not, or the definition of a custom kind."""
    env = subject.environment
    resources = objects_beside(subject)
    definitions = read_definitions(filter(is_definition, resources))
    faults = ObjectFaults(minor_of(env.kube_version), definitions)
    faults.add(resources)
    return findings(env.name, OBJECT_FIELDS, faults.diagnostics(), env.locate())


CHECK = "charts"
FORMS: Final = "policy forms"
_ALIKE: Final = frozenset((HELM_WARNINGS, OBJECT_FIELDS, POLICY_WARNINGS, SCAN_INPUT, UNREAD))
"""Checks whose equal rows of several environments are one."""
_NEWER: Final = "policyType: ValidatingPolicy gives the library's policies in the newer form"


def check_environment(
    subject: CheckTarget,
    carried: Sequence[LibraryPolicy] | None,
    today: date,
    updates_baseline: bool = False,
) -> list[Row]:
    """Return every row of an environment's summary; carried: the policies of its chart, None where
    they are upstream's and have no examples; updates_baseline: whether its baseline is written.

    Values that the charts' schemas refuse end the checks, since Helm does not render them. Raises
    RenderError where a chart of the project does not render, InputError where a workload is not
    there.
    """
    rows = [*compatibility(subject), *values(subject)]
    if any(row.check == "values" and row.outcome is Outcome.FAIL for row in rows):
        return rows
    rows += [*helm(subject), *availability(subject), *faults(subject)]
    compiled = compiled_policies(subject, carried or ())
    rows += policies_compile(subject, compiled)
    rows += policy_warnings(subject, compiled)
    rows += both_forms(subject, compiled)
    rows += exceptions(subject, today)
    rows += enforcement(subject)
    rows += own_policies(subject, carried or ())
    rows += permissions(subject, carried or ())
    rows += slow_admission(subject)
    rows += removed_generators(subject)
    unsent = Unsent(subject)
    if carried is None:
        message = "upstream's policies have no examples: chartkit's library alone has them"
        location = subject.policies.values.location
        rows.append(Row(subject.environment.name, "examples", Outcome.NOTE, message, location))
    else:
        rows += examples(subject, carried, compiled, unsent)
    names = [policy.policy.key for policy in compiled.policies]
    accepted = AcceptedViolations(subject.environment, names, today, updates_baseline)
    rows += object_fields(subject)
    rows += workloads(subject, compiled, unsent, accepted)
    rows += own_pods(subject, compiled, unsent, accepted)
    rows += accepted.rows(has_unread=any(row.check == UNREAD for row in rows))
    return rows


def vendored_rows(
    project: Project, taken: Mapping[str, Vendored], environments: Sequence[Environment]
) -> Iterator[Row]:
    """Yield a note for each vendored chart, and a warning for each setting of chartkit.yaml that
    has no effect on it; environments: those to check. Raise InputError."""
    for name, vendored in taken.items():
        used = name != ENGINE or any(env.engine for env in project.environments.values())
        message = f"{name} {vendored.chart.version} is upstream's own, from {vendored.source}"
        if not used:
            message = f"{name} is vendored, and no environment installs it (engine: false)"
        yield Row(ALL, CHECK, Outcome.NOTE, message, vendored.lock_place)
        for env in environments:
            if used and (env.engine or name != ENGINE):
                for row in said(vendored, env, project.root).left:
                    yield Row(env.name, CHECK, Outcome.WARNING, row.message, row.location, row.hint)


def policy_warnings(subject: CheckTarget, compiled: PolicySet) -> Iterable[Row]:
    """Yield Kyverno's warnings about the policies, and what lint finds in all of them together."""
    location, name = subject.policies.values.location, subject.environment.name
    warned = [
        diagnostic for diagnostic in compiled.warnings if diagnostic.rule_id == DEFINITION_WARNING
    ]
    run = at_levels(run_findings(compiled.policies), levels(subject.project, name))
    warned += [row for row in run if row.severity is not Severity.NOTE]
    yield from findings(name, POLICY_WARNINGS, warned, location)
    cleaning = (item.resource for item in compiled.cleanup if isinstance(item, CleanupPolicy))
    objects = (*(policy.policy.resource for policy in compiled.policies), *cleaning)
    for text in dict.fromkeys(map(deprecation, objects)):
        if text:
            env = subject.environment
            yield Row(name, POLICY_WARNINGS, Outcome.NOTE, text, env.locate_policy_type(), _NEWER)


def both_forms(subject: CheckTarget, compiled: PolicySet) -> Iterable[Row]:
    """Yield a note on which policies come in both forms, and which in one (`policyType: both`)."""
    env = subject.environment
    if env.policy_type is not PolicyType.BOTH:
        return
    policies = [policy.policy for policy in compiled.policies]
    legacy = {p.key for p in policies if isinstance(p, Policy)}
    in_cel = {p.key for p in policies if isinstance(p, CelPolicy)}
    count = counted(len(legacy & in_cel), "ClusterPolicy acts", "ClusterPolicies act")
    message = f"{count}, with a ValidatingPolicy of the same name that only reports"
    cleaning = {c.resource.name for c in compiled.cleanup if isinstance(c, CleanupPolicy)}
    if alone := sorted(legacy - in_cel | cleaning):
        message += f"; in one form: {abridged(alone)}"
    yield Row(env.name, FORMS, Outcome.NOTE, message, env.locate_policy_type())


def merge_environments(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows, with one in place of several environments' equal warnings of policies or
    charts, mistakes in policies, violations and unread inputs."""
    said: dict[Row, list[str]] = {}
    for row in rows:
        is_mistake = row.check == POLICIES and row.outcome in (Outcome.WARNING, Outcome.FAIL)
        if is_mistake or row.policy or row.check in _ALIKE:
            said.setdefault(replace(row, environment=""), []).append(row.environment)
    for row in rows:
        environments = said.get(replace(row, environment=""))
        if environments is None:
            yield row
        elif row.environment == environments[0]:
            yield replace(row, environment=", ".join(dict.fromkeys(environments)))
