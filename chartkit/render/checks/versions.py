"""Checks of the pair of versions, of the charts with Helm, of availability, and of the kinds and
fields that the environment's Kubernetes has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chartkit.charts.engine import high_availability
from chartkit.charts.engine.values import at_sources
from chartkit.charts.plan import ENGINE
from chartkit.engine.kubernetes.field_faults import minor_of
from chartkit.errors import RenderError
from chartkit.helm.render import WARNING_RULE
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.kyverno import matrix as compat
from chartkit.kyverno.known_faults import known_faults, running_release
from chartkit.kyverno.releases import today
from chartkit.model import Diagnostic, Severity
from chartkit.render.chart import Chart, CheckTarget
from chartkit.render.checks.engine import read_workload
from chartkit.render.model import HELM_WARNINGS, OBJECT_FIELDS, Outcome, Row, findings, rows
from chartkit.scan.custom_resources.definitions import read_definitions
from chartkit.scan.ineffective import ObjectFaults
from chartkit.scan.inputs import is_definition
from chartkit.values.lint import Stage, lint
from chartkit.wording import counted


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
            location = engine.lint_subject().locate(fault.image_path)
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
        if not chart.files.is_upstream or chart.files.schema() is None:
            refused: list[Diagnostic] = []
        else:
            try:
                chart.rendered()
            except RenderError as error:
                refused = [
                    Diagnostic("helm", Severity.ERROR, error.message, error.location, error.hint)
                ]
            else:
                refused = []
        diagnostics = _at_sources([*results, *refused], chart)
        right = f"{chart.name}: every key is known"
        location = chart.values.location
        yield from rows(subject.environment.name, "values", diagnostics, right, location)


def helm(subject: CheckTarget) -> Iterable[Row]:
    """Check that Helm lints, renders and admits the charts, and that their objects fit together."""
    for chart in subject.charts:
        rendered = chart.rendered()
        warned = [*rendered.warnings, *(w for w in chart.helm_lint() if w.rule_id == WARNING_RULE)]
        diagnostics = [item for item in chart.helm_lint() if item.severity is not Severity.NOTE]
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
    resources = [
        resource
        for workload in subject.workloads
        for resource in read_workload(subject.project, workload, env.kube_version)[0]
    ]
    for chart in subject.others:
        rendered = chart.rendered()
        resources += (*rendered.crds, *rendered.resources)
    definitions = read_definitions(filter(is_definition, resources))
    faults = ObjectFaults(minor_of(env.kube_version), definitions)
    faults.add(resources)
    return findings(env.name, OBJECT_FIELDS, faults.diagnostics(), env.locate())
