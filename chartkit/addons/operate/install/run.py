"""Carries out a plan, the engine first, then the policies, each waited for; takes both out of a
cluster again, with every webhook. Both are safe to repeat."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from chartkit.addons.operate.install.plan import (
    ROLES,
    Action,
    Plan,
    Step,
    ownerless,
    remove_ownerless,
)
from chartkit.addons.operate.install.releases import (
    Release,
    Releases,
    Status,
    described,
    driver,
    keep_definitions,
    record_name,
)
from chartkit.addons.operate.install.verify import (
    WEBHOOK_LABEL,
    StoredObjects,
    Waiter,
    is_policy,
    listed,
    replicas,
)
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.errors import ChartkitError, TerminatedError
from chartkit.model import Body, mapping_at
from chartkit.network.cluster.client import (
    CRDS,
    DEPLOYMENTS,
    MUTATING,
    PODS,
    VALIDATING,
    Cluster,
    Collection,
)
from chartkit.network.cluster.source import (
    CutShortError,
    NoAnswerError,
    NotReadyError,
    ReleaseError,
)
from chartkit.wording import counted

FOREIGN_SECONDS = 900
"""The age from which an unfinished operation that is not chartkit's own counts as interrupted."""

_ATTEMPTS = 5
"""The attempts to write policies, some of which Kyverno may not evaluate in time."""
_LATE = ("failed calling webhook", "context deadline exceeded")

_LOOK_SECONDS = 2
"""The interval between looks at an operation that may still run."""
_ENGINE: Final = "app.kubernetes.io/part-of=kyverno"
_OWNER: Final = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
_HELM: Final = "app.kubernetes.io/managed-by=Helm"
_ENDED: Final = ("Succeeded", "Failed")
_SETTLED: Final = 2
"""The times in a row that no webhook must be found: a running engine writes them again."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a run. say: takes a line on what goes on; stale: seconds after which an
    unfinished operation of chartkit's counts as cut short; again: the command that does the same
    once more; force: take over what another program wrote."""

    cluster: Cluster
    releases: Releases
    waiting: Waiter
    say: Callable[[str], None]
    stale: float
    again: str
    force: bool = False
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    sleep: Callable[[float], None] = field(default=time.sleep)


def install(plan: Plan, tools: Tools) -> None:
    """Run a plan's steps in their order, and wait for each. Raises CutShortError, with what
    remains, where a step fails or the user interrupts."""
    try:
        _engine(plan.step(ENGINE), plan, tools)
        policies = plan.step(POLICIES)
        if policies is not None:
            _policies(policies, tools)
        for step in plan.steps:
            _verify(step, tools)
            if tools.force:
                _take_over(step, tools)
    except (ChartkitError, KeyboardInterrupt) as error:
        raise cut_short(error, tools) from None


def cut_short(error: ChartkitError | KeyboardInterrupt, tools: Tools) -> CutShortError:
    """Return an error with the current state."""
    stands = []
    for name in (ENGINE, POLICIES):
        try:
            state = described(tools.releases.read(name))
        except ReleaseError as fault:
            state = f"not known ({fault.message})"
        stands.append(f"{name}: {state}")
    if isinstance(error, ChartkitError):
        return CutShortError(error.message, error.hint, stands, tools.again)
    reason = "terminated" if isinstance(error, TerminatedError) else "interrupted"
    return CutShortError(reason, None, stands, tools.again, error)


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
        kinds = Counter(own.kind for own in step.rendered.resources if is_policy(own))
        lines += [f"  {kind}: {count}, ready" for kind, count in sorted(kinds.items())]
    return "\n".join(lines) + "\n"


def _engine(step: Step | None, plan: Plan, tools: Tools) -> None:
    policies = plan.step(POLICIES)
    if step is not None:
        _release(step, tools)
        count = tools.waiting.definitions([*step.rendered.crds, *step.rendered.resources])
        tools.say(f"{count} CRDs are established")
        tools.waiting.controllers(step.rendered.resources, NAMESPACE)
        tools.say("the controllers are ready")
    elif policies is not None and any(is_policy(own) for own in policies.rendered.resources):
        tools.waiting.kinds(policies.rendered.resources)
        tools.say("the kinds of policies are there")
    else:
        return
    tools.waiting.webhooks()
    tools.say("the webhooks answer")


def _policies(step: Step, tools: Tools) -> None:
    """Install the policies. Helm writes all at once, and Kyverno evaluates each within the ten
    seconds of its webhook: those that timed out are written again."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _release(step, tools)
            break
        except ReleaseError as error:
            if attempt == _ATTEMPTS or not all(part in error.message for part in _LATE):
                raise
        tools.say("Kyverno did not evaluate all policies in time: they are written again")
        there = tools.releases.read(step.wanted.name)
        step = replace(step, there=there, action=Action.UPGRADE if there else Action.INSTALL)
    tools.waiting.policies(step.rendered.resources)
    tools.say("the policies are ready")


def _verify(step: Step, tools: Tools) -> None:
    """Compare stored objects with the chart's; NotReadyError where a deciding one differs."""
    stored = StoredObjects(tools.cluster)
    differences = stored.differences(step.rendered.resources)
    if differences and tools.force:
        for line in listed(differences):
            tools.say(f"written again: {line}")
        stored.write(differences)
        differences = stored.differences(step.rendered.resources)
    for line in listed(differences):
        tools.say(f"stored otherwise: {line}")
    deciding = [difference for difference in differences if difference.decides]
    if deciding:
        count = counted(len(deciding), "field is", "fields are")
        text = f"{step.wanted.name}: {count} stored otherwise than the chart has: {deciding[0]}"
        hint = "another program wrote it, too: use --force-conflicts to take it over"
        raise NotReadyError(text, None, hint)


def _take_over(step: Step, tools: Tools) -> None:
    """Take the fields of a release from other programs, so that no later upgrade conflicts."""
    if count := StoredObjects(tools.cluster).take_over(step.rendered.resources):
        objects = counted(count, "object is", "objects are")
        tools.say(f"{step.wanted.name}: {objects} the release's alone from now on")


def _release(step: Step, tools: Tools) -> None:
    name, there, action = step.wanted.name, step.there, step.action
    if action is Action.REPAIR and there is not None:
        there = _repaired(there, tools)
        action = Action.UPGRADE if there else Action.INSTALL
    if action is Action.NOTHING:
        tools.say(f"{name}: {described(there)}, as it should be")
        return
    if action is Action.INSTALL:
        # Helm does not take roles over that an earlier removal left, and would stop at them.
        roles = step.roles if name == ENGINE else ()
        for role in remove_ownerless(tools.cluster, roles):
            tools.say(f"ClusterRole {role} has no owner, an earlier removal left it: it is deleted")
        tools.say(f"{name}: installing {step.wanted.version}")
        tools.releases.install(step.wanted)
    else:
        tools.say(f"{name}: upgrading to {step.wanted.version}")
        tools.releases.upgrade(step.wanted)


def _repaired(there: Release, tools: Tools) -> Release | None:
    """Return a release that Helm accepts again: the release without its unfinished revision. The
    objects stay: Helm takes them over, for they bear the release's name. An operation that may be
    under way still is waited for."""
    release: Release | None = there
    while release is not None and release.status.pending:
        left = _left(release, tools)
        if left <= 0:
            tools.say(f"{release.name}: {release.status} was cut short, its record is removed")
            record = record_name(release.name, release.revision)
            tools.cluster.delete(driver(), record, NAMESPACE)
        else:
            tools.say(
                f"{release.name}: {release.status}, perhaps still under way: waiting {left:.0f} s"
            )
            tools.sleep(min(left, _LOOK_SECONDS))
        release = tools.releases.read(there.name)
    if release is not None and release.status is Status.UNINSTALLING:
        tools.say(f"{release.name}: its removal was cut short, and is ended first")
        tools.releases.uninstall(release.name, hooks=False)
        release = tools.releases.read(there.name)
    return None if release is None or release.status is Status.UNINSTALLED else release


def _left(release: Release, tools: Tools) -> float:
    """Return the time that an unfinished operation may still run; raises ReleaseError where it is
    another program's and not old."""
    age = (tools.now() - release.since).total_seconds()
    if release.marked:
        return tools.stale - age
    if age < FOREIGN_SECONDS:
        text = f"another program is at work on release '{release.name}' ({release.status})"
        hint = f"chartkit treats it as interrupted {FOREIGN_SECONDS // 60} minutes after its start"
        raise ReleaseError(text, None, hint)
    return 0


@dataclass(frozen=True, slots=True)
class Removal:
    """The steps of an uninstallation. releases: those that are there, in the order of their
    removal; webhooks: configurations that Kyverno wrote while it ran; roles: those that an earlier
    removal left; definitions: the engine's CRDs; objects: how many custom objects of these there
    are."""

    environment: str
    cluster: str
    releases: tuple[Release, ...]
    webhooks: tuple[str, ...]
    roles: tuple[str, ...]
    definitions: tuple[str, ...]
    objects: int
    with_definitions: bool

    @property
    def needed(self) -> bool:
        """Report whether there is anything to remove."""
        gone = self.definitions if self.with_definitions else ()
        return bool(self.releases or self.webhooks or self.roles or gone)


def removal(
    environment: str, engine: bool, cluster: Cluster, releases: Releases, with_definitions: bool
) -> Removal:
    """Return the uninstallation of an environment; engine: whether the project installs it. Raises
    ClusterError and ReleaseError where the cluster cannot be asked."""
    names = [POLICIES, ENGINE] if engine else [POLICIES]
    there = [release for name in names if (release := releases.read(name)) is not None]
    crds = _definitions(cluster) if engine else []
    return Removal(
        environment,
        cluster.shown,
        tuple(there),
        tuple(str(name) for _, name in _webhooks(cluster)) if engine else (),
        tuple(ownerless(cluster, ROLES)) if engine else (),
        tuple(crd["metadata"]["name"] for crd in crds),
        sum(len(cluster.objects(_served(crd))) for crd in crds) if with_definitions else 0,
        with_definitions,
    )


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


def uninstall(removal: Removal, engine: bool, tools: Tools) -> None:
    """Remove what was removal: policies first, because nothing evaluates them without the engine.
    Raises CutShortError, with what remains, where a step fails or the user interrupts."""
    try:
        for release in removal.releases:
            try:
                _removed(release, removal.with_definitions, tools, hooks=True)
            except (ReleaseError, NoAnswerError) as error:
                # Kyverno's clean-up jobs need an image and a node, and a webhook without a server
                # may refuse Helm's requests. If the engine stays, its webhooks do too.
                if not engine:
                    raise
                again = f"once more, without clean-up and webhooks ({error.message})"
                tools.say(f"{release.name}: {again}")
                _delete_webhooks(tools)
                _removed(release, removal.with_definitions, tools, hooks=False)
        if engine:
            _without_webhooks(tools)
            _without_roles(tools)
            if removal.with_definitions:
                for crd in _definitions(tools.cluster):
                    tools.cluster.delete(CRDS, crd["metadata"]["name"])
                tools.waiting.until(
                    "CRDs are still being removed",
                    lambda: ", ".join(
                        crd["metadata"]["name"] for crd in _definitions(tools.cluster)
                    ),
                )
                tools.say("no CRD of the engine's is left")
    except (ChartkitError, KeyboardInterrupt) as error:
        raise cut_short(error, tools) from None


def _removed(release: Release, with_definitions: bool, tools: Tools, hooks: bool) -> None:
    if release.name == ENGINE and not with_definitions:
        kept = keep_definitions(tools.cluster, NAMESPACE, release.name, release.revision)
        tools.say(f"{release.name}: {kept} CRDs stay, with the policies and reports of their kinds")
    tools.say(f"{release.name}: removing {release.version}")
    tools.releases.uninstall(release.name, hooks)


def _without_webhooks(tools: Tools) -> None:
    """Delete Kyverno's webhooks once nothing runs that would write them again."""

    def running() -> str:
        pods = tools.cluster.objects(PODS, NAMESPACE, _ENGINE)
        going = (pod for pod in pods if mapping_at(pod, "status").get("phase") not in _ENDED)
        return ", ".join([pod["metadata"]["name"] for pod in going][:3])

    tools.waiting.until("Kyverno's pods still run", running)
    clear = 0

    def missing() -> str:
        nonlocal clear
        clear = 0 if _delete_webhooks(tools) else clear + 1
        return "" if clear >= _SETTLED else "they are written anew"

    tools.waiting.until("webhooks are left", missing)
    tools.say("no webhook of Kyverno's is left")


def _without_roles(tools: Tools) -> None:
    """Delete the roles that kube-controller-manager wrote, once it no longer writes them."""
    clear = 0

    def missing() -> str:
        nonlocal clear
        left = remove_ownerless(tools.cluster, ROLES)
        for name in left:
            tools.say(f"ClusterRole {name} was left, without an owner: it is deleted")
        clear = 0 if left else clear + 1
        return "" if clear > _SETTLED else "they are written anew"

    tools.waiting.until("roles are left", missing)


def _delete_webhooks(tools: Tools) -> int:
    left = list(_webhooks(tools.cluster))
    for collection, name in left:
        tools.say(f"{name} was left: it is deleted")
        tools.cluster.delete(collection, name)
    return len(left)


def _webhooks(cluster: Cluster) -> Iterator[tuple[Collection, str]]:
    for collection in (VALIDATING, MUTATING):
        for body in cluster.objects(collection, labels=WEBHOOK_LABEL):
            yield collection, body["metadata"]["name"]


def _definitions(cluster: Cluster) -> list[Body]:
    """Return the CRDs that the engine's release owns, or owned when it was there."""
    owner = (ENGINE, NAMESPACE)
    return [
        crd
        for crd in cluster.objects(CRDS, labels=_HELM)
        if tuple((crd["metadata"].get("annotations") or {}).get(key) for key in _OWNER) == owner
    ]


def _served(crd: Body) -> Collection:
    spec = crd["spec"]
    version = next(form["name"] for form in spec["versions"] if form.get("served"))
    return Collection(spec["group"], version, spec["names"]["plural"])
