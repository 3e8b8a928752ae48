"""Does what a plan says: the engine, then the policies, each waited for; safe to repeat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from chartkit.addons.operate.install.plan import Action, Plan, Step, remove_ownerless
from chartkit.addons.operate.install.releases import Release, Releases, Status, driver, record_name
from chartkit.addons.operate.install.stored import StoredObjects, listed
from chartkit.addons.operate.install.waiting import Waiter, is_policy
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.errors import ChartkitError, TerminatedError
from chartkit.network.cluster.client import Cluster
from chartkit.network.cluster.source import CutShortError, NotReadyError, ReleaseError
from chartkit.wording import counted

FOREIGN_SECONDS = 900
"""The age from which an unfinished operation that is not chartkit's own counts as interrupted."""

_ATTEMPTS = 5
"""The attempts to write policies, some of which Kyverno may not evaluate in time."""
_LATE = ("failed calling webhook", "context deadline exceeded")

_LOOK_SECONDS = 2
"""The interval between looks at an operation that may still run."""


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
    """Run a plan's steps in their order, and wait for each.

    Raises CutShortError, with what remains, where a step fails or the user interrupts.
    """
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
    stands = list(standing(tools.releases, [ENGINE, POLICIES]))
    if isinstance(error, ChartkitError):
        return CutShortError(error.message, error.hint, stands, tools.again)
    reason = "terminated" if isinstance(error, TerminatedError) else "interrupted"
    return CutShortError(reason, None, stands, tools.again, error)


def standing(releases: Releases, names: Iterable[str]) -> Iterable[str]:
    """Return the state of some releases, a line each."""
    for name in names:
        try:
            there = releases.read(name)
        except ReleaseError as error:
            yield f"{name}: not known ({error.message})"
        else:
            yield f"{name}: {described(there)}"


def described(release: Release | None) -> str:
    """Return a release in words: `3.9.0, deployed (revision 2)`."""
    if release is None:
        return "not there"
    chart = "" if release.chart == release.name else f"chart {release.chart} "
    return f"{chart}{release.version}, {release.status} (revision {release.revision})"


def _engine(step: Step | None, plan: Plan, tools: Tools) -> None:
    policies = plan.step(POLICIES)
    if step is not None:
        _release(step, tools)
        count = tools.waiting.definitions([*step.rendered.crds, *step.rendered.resources])
        tools.say(f"{count} CRDs are established")
        tools.waiting.controllers(step.rendered.resources, NAMESPACE)
        tools.say("the controllers are ready")
    elif policies is not None and any(is_policy(each) for each in policies.rendered.resources):
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
    """Compare stored objects with the chart's; raises NotReadyError where an object that decides
    what is refused differs."""
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
    """Return a release that Helm will work on again: what is left of it without its unfinished
    revision.

    The objects stay: Helm takes them over, for they bear the release's name. An operation that may
    be under way still is waited for.
    """
    release: Release | None = there
    while release is not None and release.status.pending:
        left = _left(release, tools)
        if left <= 0:
            tools.say(f"{release.name}: {release.status} was cut short, its record is removed")
            record = record_name(release.name, release.revision)
            tools.cluster.delete_record(driver(), NAMESPACE, record)
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
