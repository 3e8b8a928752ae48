"""The plan of an installation: the steps until an environment runs in a cluster, and the
refusals."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from chartkit.addons.operate.install.releases import (
    DesiredRelease,
    Release,
    Releases,
    Status,
    deployed_objects,
    described,
)
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.helm.chart_values import read_values
from chartkit.helm.render import RenderedChart, render_chart
from chartkit.kyverno import matrix as compat
from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.kyverno.releases import today
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Diagnostic, Location, Resource, Severity, mapping_at
from chartkit.network.cluster.client import CLUSTER_ROLES, Cluster
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.cache import checked
from chartkit.render.compare.fields import ObjectChange, What, compare
from chartkit.render.compare.risk import Level, risk
from chartkit.render.environment import written_values

_SHOWN = 5
_OWNER = "meta.helm.sh/release-name"
ROLES = tuple(f"{ENGINE}:{component}" for component in CONTROLLERS)
"""The names of the engine's aggregated roles."""


class Action(StrEnum):
    """The action on a release."""

    INSTALL = "install"
    UPGRADE = "upgrade"
    REPAIR = "repair"
    NOTHING = "nothing to do"


@dataclass(frozen=True, slots=True)
class Step:
    """One release: as it is (None: not there) and as it is to be. changes: which objects differ;
    rendered: what the chart gives in this cluster."""

    wanted: DesiredRelease
    there: Release | None
    action: Action
    changes: tuple[ObjectChange, ...]
    rendered: RenderedChart = field(repr=False)

    @property
    def roles(self) -> list[str]:
        """The names of its cluster roles."""
        return [role.name for role in self.rendered.resources if role.kind == "ClusterRole"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of an installation. kubernetes: the cluster's version as it calls it; refusals:
    reasons against running it; notes: what the user should know."""

    environment: str
    cluster: str
    kubernetes: str
    steps: tuple[Step, ...]
    refusals: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def needed(self) -> bool:
        """Report whether anything has to be done."""
        return any(step.action is not Action.NOTHING for step in self.steps)

    def step(self, name: str) -> Step | None:
        """Return the step of a release, None where the project leaves it to others."""
        return next((step for step in self.steps if step.wanted.name == name), None)


def plan(
    project: Project,
    environment: Environment,
    cluster: Cluster,
    releases: Releases,
    drift_allowed: bool,
) -> Plan:
    """Compare an environment's charts with the releases in a cluster.

    drift_allowed: take the charts as they stand, even where chartkit.yaml says otherwise by now.
    Raises InputError where the charts were not written, RenderError where they do not render,
    ClusterError and ReleaseError where the cluster cannot be asked.
    """
    kubernetes = cluster.version()
    live = parse_version(kubernetes, "Kubernetes")
    apis = cluster.group_versions()
    names = [ENGINE, POLICIES] if environment.engine else [POLICIES]
    refusals = _unsupported(environment, environment.kyverno, live)
    if not drift_allowed and checked(project, ()).drift:
        location = Location(str(project.charts))
        refusals.append(f"{location}: differs from chartkit.yaml (run `chartkit render`)")
    steps = []
    for name in [] if refusals else names:
        there = releases.read(name)
        # The installed version of a release; of a failed one, the version deployed before.
        if there is None:
            before: Sequence[Resource] = ()
        elif there.status is not Status.FAILED:
            before = there.resources
        else:
            before = deployed_objects(cluster, NAMESPACE, there.name, there.revision)
        steps.append(_step(project.charts / name, environment, kubernetes, apis, there, before))
        refusals += _refusals(steps[-1], environment, live)
    step_notes = []
    if live != environment.kubernetes:
        step_notes.append(
            f"chartkit.yaml says Kubernetes {environment.kubernetes} for {environment.name}: "
            f"the charts were not checked for {live}"
        )
    if environment.is_unsupported:
        diagnostics = _judged(environment, environment.kyverno, live)
        step_notes += [note.message for note in diagnostics if note.severity is Severity.WARNING]
    for step in steps:
        wanted, runs = _kyverno(step.wanted), _kyverno(step.there)
        if wanted is not None and runs is not None and runs.next_minor() < wanted:
            step_notes.append(
                f"this skips versions between Kyverno {runs} and {wanted}: "
                f"`chartkit plan --from {runs}/{live} --to {wanted}/{live}` shows the way"
            )
    notes = [*step_notes, *_leftovers(steps, cluster)]
    notes += [str(warning) for step in steps for warning in step.rendered.warnings]
    return Plan(
        environment.name, cluster.shown, kubernetes, tuple(steps), tuple(refusals), tuple(notes)
    )


def plan_text(plan: Plan) -> str:
    """Return a plan as text: the cluster, each release now and afterwards, and the refusals."""
    lines = [
        f"cluster      {plan.cluster}, Kubernetes {plan.kubernetes}",
        f"environment  {plan.environment}",
    ]
    for step in plan.steps:
        name = step.wanted.name
        if step.there is None:
            lines.append(f"{name}: not there → {step.wanted.version}: {step.action}")
        else:
            lines.append(f"{name}: {described(step.there)} → {step.wanted.version}: {step.action}")
            before, after = values_digest(step.there.values), values_digest(step.wanted.values)
            if before != after:
                lines.append(f"  values {before} → {after}")
        if step.action is not Action.NOTHING:
            counts = Counter(change.what for change in step.changes)
            objects = ", ".join(f"{counts[what]} {what}" for what in What if counts[what])
            lines.append(f"  objects: {objects or 'none changes'}")
            if step.there is not None:
                risks = [(change, risk(change)) for change in step.changes]
                high = [(change, rated) for change, rated in risks if rated.level is Level.HIGH]
                for change, rated in high[:_SHOWN]:
                    lines.append(f"  high risk: {change.identity} {change.what}: {rated.reason}")
                if len(high) > _SHOWN:
                    lines.append(f"  high risk: {len(high) - _SHOWN} more")
    lines += [f"note: {note}" for note in plan.notes]
    lines += [f"refused: {refusal}" for refusal in plan.refusals]
    return "\n".join(lines) + "\n"


def values_digest(values: Body) -> str:
    """Return the first twelve digits of the SHA-256 of values, which may be secret themselves."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _unsupported(environment: Environment, kyverno: Version, live: Version) -> list[str]:
    diagnostics = _judged(environment, kyverno, live)
    return [str(diagnostic) for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]


def _judged(environment: Environment, kyverno: Version, live: Version) -> list[Diagnostic]:
    """The findings about a pair; a warning for one that chartkit.yaml accepts."""
    location = environment.locate("kyverno")
    verdict = compat.judge(kyverno, live, today(), location, environment.versions)
    is_own = (kyverno, live) == (environment.kyverno, environment.kubernetes)
    return compat.diagnostics(verdict, location, environment.accepted if is_own else "")


def _step(
    chart: Path,
    environment: Environment,
    kubernetes: str,
    apis: Sequence[str],
    there: Release | None,
    before: Sequence[Resource],
) -> Step:
    values = written_values(chart, environment)
    rendered = render_chart(
        chart,
        values,
        release=chart.name,
        namespace=NAMESPACE,
        kube_version=kubernetes,
        api_versions=[*apis, *(api for api, served in environment.apis.items() if served)],
    )
    file = chart / "Chart.yaml"
    metadata = next((document.body for document in read_file(file)), None)
    if not isinstance(metadata, dict):
        raise InputError("describes no chart", Location(str(file)))
    wanted = DesiredRelease(
        chart.name,
        chart,
        str(metadata.get("version", "")),
        str(metadata.get("appVersion", "")),
        read_values(values).merged,
    )
    changes = compare(before, rendered.resources)
    return Step(wanted, there, _action(wanted, there, bool(changes)), tuple(changes), rendered)


def _action(wanted: DesiredRelease, there: Release | None, changed: bool) -> Action:
    if there is None or there.status is Status.UNINSTALLED:
        return Action.INSTALL
    if there.status.pending or there.status is Status.UNINSTALLING:
        return Action.REPAIR
    same = (there.chart, there.version) == (wanted.chart.name, wanted.version)
    if same and not changed and there.status is Status.DEPLOYED and there.values == wanted.values:
        return Action.NOTHING
    return Action.UPGRADE


def _refusals(step: Step, environment: Environment, live: Version) -> list[str]:
    """Return the reasons against installing an engine: the chart's version is neither the one in
    chartkit.yaml nor supported, or a newer one runs, whose stored versions an older one does not
    know."""
    wanted, runs = _kyverno(step.wanted), _kyverno(step.there)
    if wanted is None:
        return []
    refusals = [] if wanted == environment.kyverno else _unsupported(environment, wanted, live)
    if runs is not None and runs > wanted:
        refusals.append(f"Kyverno {runs} runs here, and the way back to {wanted} is not supported")
    return refusals


def _kyverno(release: DesiredRelease | Release | None) -> Version | None:
    """The Kyverno of an engine's release; None for another chart or an unknown one."""
    if release is None or release.name != ENGINE:
        return None
    try:
        return parse_version(release.app_version, "Kyverno")
    except InputError:
        return None


def _leftovers(steps: Sequence[Step], cluster: Cluster) -> Iterator[str]:
    """Return the leftovers that block an engine's installation and are deleted before it."""
    for step in steps:
        if step.wanted.name == ENGINE and step.action is Action.INSTALL:
            for name in ownerless(cluster, step.roles):
                yield (
                    f"ClusterRole {name} has no owner, an earlier removal left it: it is deleted "
                    "first"
                )


def ownerless(cluster: Cluster, names: Iterable[str]) -> list[str]:
    """Return the cluster roles among these that no release owns and that allow nothing.

    When Helm deletes the roles that a controller's role is the sum of, kube-controller-manager may
    write the sum again after Helm has deleted it: without an owner and rules, it keeps Helm from
    installing again.
    """
    roles = ((name, cluster.read(CLUSTER_ROLES, name)) for name in names)
    return [
        name
        for name, body in roles
        if body is not None
        and _OWNER not in mapping_at(body, "metadata", "annotations")
        and not body.get("rules")
    ]


def remove_ownerless(cluster: Cluster, names: Iterable[str]) -> list[str]:
    """Delete roles without an owner; returns their names."""
    roles = ownerless(cluster, names)
    for name in roles:
        cluster.delete(CLUSTER_ROLES, name)
    return roles
