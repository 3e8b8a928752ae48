"""Texts of `chartkit install` and `chartkit uninstall`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chartkit.addons.operate.install.plan import Action, Plan, Step, values_digest
from chartkit.addons.operate.install.remove import Removal
from chartkit.addons.operate.install.run import described
from chartkit.addons.operate.install.waiting import is_policy, replicas
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.network.cluster.client import DEPLOYMENTS, Cluster
from chartkit.network.cluster.source import CutShortError
from chartkit.render.compare.fields import What
from chartkit.render.compare.risk import Level, risk
from chartkit.wording import counted

_SHOWN = 5


def plan_text(plan: Plan) -> str:
    """Return a plan: the cluster, each release as it is and as it is to be, and what forbids it."""
    lines = [
        f"cluster      {plan.cluster}, Kubernetes {plan.kubernetes}",
        f"environment  {plan.environment}",
    ]
    for step in plan.steps:
        lines += _step(step)
    lines += [f"note: {note}" for note in plan.notes]
    lines += [f"refused: {refusal}" for refusal in plan.refusals]
    return "\n".join(lines) + "\n"


def _step(step: Step) -> Iterator[str]:
    name = step.wanted.name
    if step.there is None:
        yield f"{name}: not there → {step.wanted.version}: {step.action}"
    else:
        yield f"{name}: {described(step.there)} → {step.wanted.version}: {step.action}"
        before, after = values_digest(step.there.values), values_digest(step.wanted.values)
        if before != after:
            yield f"  values {before} → {after}"
    if step.action is Action.NOTHING:
        return
    counts = Counter(change.what for change in step.changes)
    objects = ", ".join(f"{counts[what]} {what}" for what in What if counts[what])
    yield f"  objects: {objects or 'none changes'}"
    if step.there is None:
        return
    risks = [(change, risk(change)) for change in step.changes]
    high = [(change, found) for change, found in risks if found.level is Level.HIGH]
    for change, found in high[:_SHOWN]:
        yield f"  high risk: {change.identity} {change.what}: {found.reason}"
    if len(high) > _SHOWN:
        yield f"  high risk: {len(high) - _SHOWN} more"


def removal_text(removal: Removal) -> str:
    """Return the plan of an uninstallation."""
    lines = [f"cluster      {removal.cluster}", f"environment  {removal.environment}"]
    lines += [f"{release.name}: {described(release)}: remove" for release in removal.releases]
    if removal.webhooks:
        lines.append(f"webhooks that Kyverno wrote: {len(removal.webhooks)}: remove")
    left = "left by an earlier removal: remove"
    lines += [f"ClusterRole {name}, {left}" for name in removal.roles]
    if removal.definitions and removal.with_definitions:
        lines.append(
            f"CRDs: {len(removal.definitions)}: remove, and with them "
            f"{counted(removal.objects, 'object')}: "
            "ALL policies, exceptions and reports of the cluster"
        )
    elif removal.definitions:
        lines.append(f"CRDs: {len(removal.definitions)}: stay, with the objects of their kinds")
    return "\n".join(lines) + "\n"


def failure_lines(error: CutShortError) -> list[str]:
    """Return the failure, the state of the releases, and how to continue."""
    hint = f" ({error.hint})" if error.hint else ""
    lines = [f"{' '.join(error.message.split())}{hint}"]
    lines += [f"stands: {stand}" for stand in error.stands]
    return [*lines, f"go on with: {error.on}"]


def running_text(plan: Plan, cluster: Cluster) -> str:
    """Return the state after an installation."""
    lines = [f"Kyverno runs in {plan.cluster}, Kubernetes {plan.kubernetes}:"]
    for body in cluster.objects(DEPLOYMENTS, NAMESPACE):
        there, wanted = replicas(body)
        containers = body["spec"]["template"]["spec"].get("containers") or [{}]
        image = containers[0].get("image", "")
        tag = image.rpartition(":")[2]
        lines.append(f"  {body['metadata']['name']}: {there} of {wanted} replicas, {tag}")
    for step in plan.steps:
        kinds = Counter(each.kind for each in step.rendered.resources if is_policy(each))
        lines += [f"  {kind}: {count}, ready" for kind, count in sorted(kinds.items())]
    return "\n".join(lines) + "\n"
