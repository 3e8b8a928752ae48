"""The rehearsal itself: objects are read, asked, and judged as they are today."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
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
from chartkit.kyverno.known_faults import refuses_legacy_policies
from chartkit.model import Diagnostic, Resource, mapping_at, mappings_at
from chartkit.network.cluster.reader import Discovery, Reader, sample
from chartkit.scan.cluster import Survey, open_cluster
from chartkit.scan.gate import Threshold
from chartkit.scan.gitops.releases import declares_release
from chartkit.scan.inputs import Note
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.scan.requests import Requests
from chartkit.scan.run import ScanContext, run_scan

RANKS: Final = {str(level): rank for rank, level in enumerate(Threshold)}
"""Numbers that order severities, 0 for the gravest."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An upgrade rehearsed.

    environment: empty for none; start: the pair of versions; steps: with the answers;
    migrated: the objects of kyverno.io, each with what replaces it, not proved; acts: what they do
    today; options: the inputs; faults, unread: as of the inventory.
    """

    environment: str
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

    @property
    def ending(self) -> Step | None:
        """The step that ends policies of kyverno.io which are there, None where none does."""
        first = refuses_legacy_policies()
        steps = (step for step, fact in self.hits if fact.change.stops and step.after >= first)
        return next(steps, None)

    def exit_code(self, fail_on: str | None) -> int:
        """2 for input that cannot be used, 1 where a fact of at least this severity concerns
        something, or something could not be read; None: any severity."""
        if self.faults:
            return 2
        least = RANKS[fail_on or Threshold.INFO] if fail_on != Threshold.NONE else -1
        fails = any(RANKS[fact.change.severity] <= least for _, fact in self.hits)
        return 1 if fails or self.unread else 0


def rehearse(
    environment: str,
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
        acts, unread = asked.files(inventory), inventory.unread
    else:
        with open_cluster(source) as reader:
            inventory = cluster_inventory(reader)
            acts = asked.cluster(reader, inventory)
            unread = tuple(f"{what}: {reason}" for what, reason in reader.unread.items())
    for legacy in inventory.objects:
        asked.add(legacy.resource)
    releases = [*filter(None, [values]), *declared_values(asked.releases, note)]
    for step in steps:
        for fact in step.facts:
            fact.ask(releases)
    conversion = ConversionOptions(inventory=options, prove=False)
    migrated = migrator_of(conversion, inventory).all(inventory.objects, progress)
    return Rehearsal(environment, start, steps, migrated, acts, options, inventory.findings, unread)


@dataclass(slots=True)
class _Asked:
    """Asks the facts of steps of objects, while policies judge them; releases: those that declare
    releases."""

    steps: Sequence[Step]
    releases: list[Resource] = field(default_factory=list)

    def add(self, resource: Resource) -> None:
        """Ask all facts of an object."""
        for fact in (fact for step in self.steps for fact in step.facts):
            if fact.change.concerned is not None and fact.change.concerned.has(resource):
                fact.objects.append(resource)
        if declares_release(resource):
            self.releases.append(resource)

    def files(self, inventory: Inventory) -> Acts:
        """Ask the objects of files."""
        legacy = [each.current or each.resource for each in inventory.objects if not each.refused]
        policies = compile_all(legacy, read_exceptions(filter(is_exception, legacy)))
        requests = Requests.of(policies, inventory.resources)
        return self._acts(policies, inventory.resources, requests.context(requests.world()))

    def cluster(self, reader: Reader, inventory: Inventory) -> Acts:
        """Ask the objects of a cluster: those that policies judge, that facts or generating rules
        name, and that declare releases."""
        legacy = [each.current or each.resource for each in inventory.objects]
        survey = Survey(reader, NO_ATTACHMENTS)
        policies = compile_all(legacy, survey.around)
        objects = survey.objects(policies.policies, self._kinds(reader.discovery, legacy))
        return self._acts(policies, objects, survey.context(policies))

    def _kinds(
        self, discovery: Discovery, legacy: Iterable[Resource]
    ) -> Collection[GroupVersionKind]:
        """Return the kinds to read that no policy may judge, each in the first version served."""
        facts = [fact.change.concerned for step in self.steps for fact in step.facts]
        named = {(each.group, kind) for each in facts if each for kind in each.kinds}
        rules = (rule for each in legacy for rule in mappings_at(each.body, "spec", "rules"))
        generated = {mapping_at(rule, "generate").get("kind") for rule in rules}
        kinds: dict[tuple[str, str], GroupVersionKind] = {}
        for served in discovery.all:
            group, _, kind = served.kind
            is_named = {(group, kind), (group, "*")} & named or kind in generated
            if is_named or declares_release(Resource(sample(served))):
                kinds.setdefault((group, kind), served.kind)
        return kinds.values()

    def _acts(self, policies: PolicySet, objects: Iterable[Resource], context: ScanContext) -> Acts:
        acts = Acts({each.policy.id: each for each in policies.policies}, context.namespaces)
        run_scan(policies.policies, self._stream(objects), acts.add, context)
        return acts

    def _stream(self, objects: Iterable[Resource]) -> Iterator[Resource]:
        """Yield objects once they were asked, without those that the inventory has."""
        for resource in filterfalse(is_legacy, objects):
            self.add(resource)
            yield resource
