"""All checks of an environment, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from chartkit.catalog.policy_lint.findings import at_levels, levels, run_findings
from chartkit.charts.plan import ENGINE
from chartkit.charts.upstream.vendored import Vendored, said
from chartkit.documents.unread import UNREAD
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cleanup import CleanupPolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.cluster_policy.policy_check.warnings import deprecation
from chartkit.engine.kubernetes.definitions import WARNING_RULE
from chartkit.library.policies import LibraryPolicy
from chartkit.model import Severity
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.project.settings import PolicyType
from chartkit.render.access_reviews import slow_admission
from chartkit.render.chart import ALL, CheckTarget
from chartkit.render.checks.enforcement import enforcement
from chartkit.render.checks.engine import compiled_policies, own_pods, policies_compile, workloads
from chartkit.render.checks.examples import examples, without_examples
from chartkit.render.checks.exclusions import Unsent, exceptions
from chartkit.render.checks.own_policies import own_policies
from chartkit.render.checks.permissions import AcceptedViolations, permissions
from chartkit.render.checks.versions import (
    availability,
    compatibility,
    faults,
    helm,
    object_fields,
    values,
)
from chartkit.render.manifests import removed_generators
from chartkit.render.model import (
    HELM_WARNINGS,
    OBJECT_FIELDS,
    POLICIES,
    POLICY_WARNINGS,
    Outcome,
    Row,
    findings,
)
from chartkit.scan.policies import PolicySet
from chartkit.wording import abridged, counted

CHECK = "charts"
FORMS: Final = "policy forms"
_ALIKE: Final = frozenset((HELM_WARNINGS, OBJECT_FIELDS, POLICY_WARNINGS, UNREAD))
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
        rows += without_examples(subject)
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
    warned = [diagnostic for diagnostic in compiled.warnings if diagnostic.rule_id == WARNING_RULE]
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
