"""The rehearsal itself: objects are read, asked, and judged as they are today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TextIO

from chartkit.addons.migrate.files.run import Progress, migrator_of, without_patches
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.options import ConversionOptions, InventoryOptions
from chartkit.addons.migrate.plan.inventory import (
    Inventory,
    cluster_inventory,
    cluster_source,
    read_inventory,
    without_copies,
)
from chartkit.addons.operate.rehearsal.acts import Acts
from chartkit.addons.operate.rehearsal.facts import Fact, Step, Values, declared_values
from chartkit.engine import NO_ATTACHMENTS, is_exception, read_exceptions
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Diagnostic, Resource, mapping_at, mappings_at
from chartkit.network.cluster.discovery import Discovery, sample
from chartkit.network.cluster.reader import Reader
from chartkit.scan.cluster import Survey, open_cluster
from chartkit.scan.gate.options import Threshold
from chartkit.scan.gitops.releases import declares_release
from chartkit.scan.inputs import Note
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.scan.requests import Requests
from chartkit.scan.run import ScanContext, namespace_labels, namespaces_among, run_scan
from chartkit.scan.user_inputs import UserInputs

RANKS: Final = {str(level): rank for rank, level in enumerate(Threshold)}
"""Numbers that order severities, 0 for the gravest."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An upgrade rehearsed.

    start: the environment, or the option with the pair where it starts; steps: with the answers;
    migrated: the objects of kyverno.io, each with what replaces it, not proved; acts: what they do
    today; options: the inputs; faults, unread: as of the inventory.
    """

    start: str
    steps: Sequence[Step]
    migrated: Sequence[MigratedObject]
    acts: Acts
    options: InventoryOptions
    faults: Sequence[Diagnostic]
    unread: Sequence[str]

    @property
    def hits(self) -> Iterator[tuple[Step, Fact]]:
        """Each fact that concerns something, with its step."""
        return ((step, fact) for step in self.steps for fact in step.facts if fact.hits)

    def exit_code(self, fail_on: str | None) -> int:
        """2 for input that cannot be used, 1 where a fact of at least this severity concerns
        something, or something could not be read; None: any severity."""
        if self.faults:
            return 2
        least = RANKS[fail_on or Threshold.INFO] if fail_on != Threshold.NONE else -1
        fails = any(RANKS[fact.change.severity] <= least for _, fact in self.hits)
        return 1 if fails or self.unread else 0


def rehearse(
    start: str,
    steps: Sequence[Step],
    values: Values,
    options: InventoryOptions,
    stdin: TextIO,
    note: Note,
    progress: Progress,
) -> Rehearsal:
    """Ask the facts of steps of the inputs; values: of the environment's chart of the engine, none
    where they are not known. Raise InputError, and SourceError for a cluster that does not
    answer."""
    asked = _Asked(steps)
    if (source := cluster_source(options)) is None:
        inventory = without_copies(without_patches(read_inventory(options, stdin, note))[0])
        acts = _of_files(inventory, asked)
        unread: Sequence[str] = inventory.unread
    else:
        with open_cluster(source) as reader:
            inventory = cluster_inventory(reader)
            acts = _of_cluster(reader, inventory, asked)
            unread = [f"{what}: {reason}" for what, reason in reader.unread.items()]
    for legacy in inventory.objects:
        asked.add(legacy.resource)
    releases = [*filter(None, [values]), *declared_values(asked.releases, note)]
    for step in steps:
        for fact in step.facts:
            fact.ask(releases)
    conversion = ConversionOptions(
        inventory=options, prove=False, proof_seconds=None, objects=(), allowed=(), jobs=1
    )
    migrator = migrator_of(conversion, inventory, (), stdin, note)
    migrated = migrator.all(inventory.objects, progress)
    return Rehearsal(start, steps, migrated, acts, options, inventory.findings, unread)


@dataclass(slots=True)
class _Asked:
    """Asks the facts of steps; releases: the objects that declare releases."""

    steps: Sequence[Step]
    releases: list[Resource] = field(default_factory=list)

    def add(self, resource: Resource) -> None:
        """Ask all facts of an object."""
        for step in self.steps:
            step.ask(resource)
        if declares_release(resource):
            self.releases.append(resource)

    def stream(self, resources: Iterable[Resource]) -> Iterator[Resource]:
        """Yield objects once they were asked, without those that the inventory has."""
        for resource in resources:
            if not is_legacy(resource):
                self.add(resource)
                yield resource

    def kinds(self, discovery: Discovery, inventory: Inventory) -> set[GroupVersionKind]:
        """Return the kinds of a cluster that facts or generating rules name, or that declare
        releases, each in the first version that is served."""
        facts = [fact.change.concerned for step in self.steps for fact in step.facts]
        named = {(each.group, kind) for each in facts if each for kind in each.kinds}
        generated = {
            mapping_at(rule, "generate").get("kind")
            for legacy in inventory.objects
            for rule in mappings_at(legacy.resource.body, "spec", "rules")
        }
        kinds: dict[tuple[str, str], GroupVersionKind] = {}
        for served in discovery.all:
            group, _, kind = served.kind
            is_named = {(group, kind), (group, "*")} & named or kind in generated
            if is_named or declares_release(Resource(sample(served))):
                kinds.setdefault((group, kind), served.kind)
        return set(kinds.values())


def _of_files(inventory: Inventory, asked: _Asked) -> Acts:
    legacy = [each.current or each.resource for each in inventory.objects if not each.refused]
    policies = compile_all(legacy, read_exceptions(filter(is_exception, legacy)))
    objects = inventory.resources
    labels, namespaces = namespace_labels(objects), namespaces_among(objects)
    requests = Requests(policies, objects, labels, namespaces, UserInputs())
    return _acts(policies, asked.stream(objects), requests.context(requests.world()))


def _of_cluster(reader: Reader, inventory: Inventory, asked: _Asked) -> Acts:
    survey, inputs = Survey(reader, NO_ATTACHMENTS), UserInputs()
    legacy = [each.current or each.resource for each in inventory.objects]
    policies = compile_all(legacy, survey.around)
    requests = Requests(policies, (), survey.namespaces, survey.namespace_objects, inputs)
    context = requests.context(survey.world(inputs))
    objects = survey.objects(policies.policies, asked.kinds(reader.discovery, inventory))
    context = replace(context, plural_of=reader.discovery.plural)
    return _acts(policies, asked.stream(objects), context)


def _acts(policies: PolicySet, objects: Iterable[Resource], context: ScanContext) -> Acts:
    acts = Acts({each.policy.id: each for each in policies.policies}, context.namespaces)
    run_scan(policies.policies, objects, acts.add, context)
    return acts
