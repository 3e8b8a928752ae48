"""What to do before the upgrade, in order, with commands."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.plan.inventory import LegacyObject
from chartkit.addons.migrate.plan.origin import Origin, Tool
from chartkit.addons.operate.rehearsal.run import Rehearsal
from chartkit.kyverno.versions import Version
from chartkit.model import Resource, mapping_at, mappings_at
from chartkit.network.cluster.recording import is_recording
from chartkit.report.model import resource_id
from chartkit.scan.inputs import STDIN
from chartkit.wording import abridged, counted

_APPLY: Final = frozenset((Tool.ARGO_CD, Tool.FLUX, Tool.HELM, Tool.CHART))
_LIBRARY: Final = "kyverno-policies"
"""The chart of a project's policies, whose `policyType` is the form of each."""
_NEW_KINDS: Final = Version(1, 17)
"""The first Kyverno that has all kinds of policies.kyverno.io, as v1."""
_LONGEST: Final = 70
"""The columns of a line of a command."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something to do; details: what is concerned, a line each."""

    text: str
    commands: Sequence[str] = ()
    details: Sequence[str] = ()


def tasks(rehearsal: Rehearsal) -> Iterator[Task]:
    """Yield what to do before the step that ends policies of kyverno.io; nothing where no object is
    concerned."""
    if (step := rehearsal.ending) is None:
        return
    switched = [each for each in rehearsal.migrated if _is_switched(rehearsal, each.legacy.origin)]
    migrated = [each for each in rehearsal.migrated if each not in switched]
    objects, running = [each.legacy for each in migrated], step.before
    if running != rehearsal.steps[0].before or running < _NEW_KINDS:
        yield Task(f"Upgrade to Kyverno {running}, which runs both the old and the new policies.")
    if switched:
        count = counted(len(switched), "policy", "policies")
        text = f"Set policyType: both in chartkit.yaml for {count}, later ValidatingPolicy."
        yield Task(text, ["chartkit render"])
    yield from _conversion(rehearsal, migrated)
    taken = [each.resource for each in objects if _takes_along(each.resource)]
    if taken:
        text = (
            "Set generate.orphanDownstreamOnPolicyDelete: true in these policies, and apply them: "
            f"Kyverno {running} deletes what they generated together with them."
        )
        yield Task(text, details=[f"{resource_id(each)} ({each.location})" for each in taken])
    yield Task(
        f"Install the new policies while Kyverno {running} still runs the old ones; what denies, "
        "first."
    )
    yield from _removal(objects)
    is_out = "" if not step.announcement else "it is out and "
    text = f"Upgrade to Kyverno {step.after} once {is_out}nothing is left: this exits 0 then."
    is_recorded = any(is_recording(Path(path)) for path in rehearsal.options.paths)
    inputs = "--cluster" if is_recorded else _inputs(rehearsal, "--rehearse ")
    start = rehearsal.environment or f"--from {rehearsal.start}"
    command = f"chartkit plan {start} --to {step.after} {inputs} --fail-on high"
    yield Task(text, [command])


def _is_switched(rehearsal: Rehearsal, origin: Origin) -> bool:
    """Report whether an object is of the project's chart, which has each policy in CEL as well."""
    if not rehearsal.environment:
        return False
    return origin.chart.startswith(f"{_LIBRARY}-") or Path(origin.name).name == _LIBRARY


def _conversion(rehearsal: Rehearsal, migrated: Sequence[MigratedObject]) -> Iterator[Task]:
    rules = [(each, outcome) for each in migrated for outcome in each.outcomes]
    by_hand = [_by_hand(*each) for each in rules if not each[1].converted]
    if count := len(rules) - len(by_hand):
        changed = sum(bool(outcome.changes) for _, outcome in rules)
        text = f"Convert {count} of {counted(len(rules), 'rule')}, with a proof of each."
        text += f" Of {changed} something changes: the plan says what." if changed else ""
        inputs = _inputs(rehearsal)
        files = all(each.legacy.document is not None for each in migrated)
        files = files and STDIN not in rehearsal.options.paths
        commands = [f"chartkit migrate plan {inputs}"] if changed else []
        target = "--write" if files else "--output new-policies"
        yield Task(text, [*commands, f"chartkit migrate policies {inputs} {target}"])
    if by_hand:
        yield Task(f"Rewrite {counted(len(by_hand), 'rule')} by hand, in CEL.", details=by_hand)


def _by_hand(migrated: MigratedObject, outcome: RuleOutcome) -> str:
    name = f", rule {outcome.rule}" if outcome.rule else ""
    location = migrated.locate(outcome)
    return f"{resource_id(migrated.legacy.resource)}{name} ({location}): {outcome.reason}"


def _takes_along(resource: Resource) -> bool:
    """Report whether Kyverno deletes what a policy generated together with it."""
    for rule in mappings_at(resource.body, "spec", "rules"):
        generate = mapping_at(rule, "generate")
        if generate.get("synchronize") and not generate.get("orphanDownstreamOnPolicyDelete"):
            return True
    return False


def _removal(objects: Sequence[LegacyObject]) -> Iterator[Task]:
    applied: dict[str, list[str]] = {}
    names: dict[tuple[str, str], list[str]] = {}
    for each in objects:
        name, namespace = each.resource.name, each.resource.namespace
        if each.origin.tool in _APPLY:
            applied.setdefault(str(each.origin), []).append(name)
        else:
            names.setdefault((each.resource.kind.lower(), namespace), []).append(name)
    if applied:
        text = (
            "Take the old policies out of what applies them, and let it prune them; once Kyverno "
            "is upgraded, each sync that applies one of them is denied."
        )
        yield Task(text, details=[f"{tool}: {abridged(given)}" for tool, given in applied.items()])
    if names:
        text = "Delete the old policies that no tool is known to apply"
        is_file = any(each.document is not None for each in objects)
        text += ", unless one applies these files and prunes them." if is_file else "."
        yield Task(text, [line for key, given in names.items() for line in _deletion(*key, given)])


def _deletion(kind: str, namespace: str, names: Sequence[str]) -> list[str]:
    within = f" -n {shlex.quote(namespace)}" if namespace else ""
    command = f"kubectl delete {kind}.kyverno.io{within} {shlex.join(names)}"
    lines = textwrap.wrap(
        command, _LONGEST, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _inputs(rehearsal: Rehearsal, option: str = "") -> str:
    """Return the inputs of a rehearsal for a command; option: before each path."""
    options = rehearsal.options
    if options.cluster:
        context = f" --context {shlex.quote(options.context)}" if options.context else ""
        return f"--cluster{context}"
    paths = [f"{option}{shlex.quote(path)}" for path in options.paths]
    return " ".join([*paths, *(f"-f {shlex.quote(str(file))}" for file in options.values)])
