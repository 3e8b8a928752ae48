"""The rehearsal of an upgrade of Kyverno: objects are read, and judged as they are today; each fact
of its releases is asked of them, and `report` shows those that concern one, with what to do first.

It imports `addons/migrate`, which knows what becomes of the policies of kyverno.io.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import filterfalse
from pathlib import Path
from typing import Final, TextIO

from chartkit.addons.migrate.conversion import CLEANUP, EXCEPTION, legacy_rules
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
from chartkit.documents.reader import Document, read_file
from chartkit.engine import ENFORCE, NO_ATTACHMENTS, RunnablePolicy, is_exception, read_exceptions
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.kyverno.known_faults import (
    Change,
    ChangeKind,
    announced,
    changes,
    known_faults,
    refuses_legacy_policies,
)
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_release
from chartkit.model import (
    Diagnostic,
    FieldPath,
    Location,
    Resource,
    RuleResult,
    RuleType,
    Status,
    mapping_at,
    mappings_at,
    text_of,
    value_at,
)
from chartkit.network.cluster.reader import Reader, sample
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.report.model import resource_id
from chartkit.scan.cluster import Survey, open_cluster
from chartkit.scan.gate import Threshold
from chartkit.scan.gitops.model import DeclaredRelease, Repository
from chartkit.scan.gitops.releases import declares_release
from chartkit.scan.inputs import Note
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.scan.requests import Requests
from chartkit.scan.run import ScanContext, run_scan

RANKS: Final = {str(level): rank for rank, level in enumerate(Threshold)}
"""Numbers that order severities, 0 for the gravest."""
_EXCEPTIONS: Final = re.compile(r"(?:policy exceptions? ?)?([a-z0-9.-]+/[a-z0-9.-]+)(?:, |$)")
"""The exceptions in the message about a rule that is skipped; Kyverno puts no blank before them."""
_POLICY: Final = "generate.kyverno.io/policy-name"
_NAMESPACE: Final = "generate.kyverno.io/policy-namespace"
_DECIDED: Final = frozenset((Status.PASS, Status.FAIL, Status.WARN))
_ENGINE: Final = "kyverno"
Values = Sequence[Document]
"""The values of one release of Kyverno's chart; the last document wins."""


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
    folders = sorted({Path(resource.location.file).parent for resource in asked.releases})
    declared = engine_releases(asked.releases, folders, note)
    releases = [*filter(None, [values]), *(given for _, given in declared if given)]
    for step in steps:
        for fact in step.facts:
            fact.ask(releases)
    conversion = ConversionOptions(inventory=options, prove=False)
    migrated = migrator_of(conversion, inventory).all(inventory.objects, progress)
    return Rehearsal(environment, start, steps, migrated, acts, options, inventory.findings, unread)


@dataclass(slots=True)
class _Asked:
    """Asks facts of objects, while policies judge them; releases: those that declare some."""

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
        legacy = [old.current or old.resource for old in inventory.objects if not old.refused]
        policies = compile_all(legacy, read_exceptions(filter(is_exception, legacy)))
        requests = Requests.of(policies, inventory.resources)
        return self._acts(policies, inventory.resources, requests.context(requests.world()))

    def cluster(self, reader: Reader, inventory: Inventory) -> Acts:
        """Ask the objects of a cluster: those that policies judge, that facts or generating rules
        name, and that declare releases."""
        legacy = [old.current or old.resource for old in inventory.objects]
        survey = Survey(reader, NO_ATTACHMENTS)
        policies = compile_all(legacy, survey.around)
        facts = [fact.change.concerned for step in self.steps for fact in step.facts]
        named = {(fact.group, kind) for fact in facts if fact for kind in fact.kinds}
        rules = (rule for old in legacy for rule in mappings_at(old.body, "spec", "rules"))
        generated = {mapping_at(rule, "generate").get("kind") for rule in rules}
        kinds: dict[tuple[str, str], GroupVersionKind] = {}
        for served in reader.discovery.all:
            group, _, kind = served.kind
            is_named = {(group, kind), (group, "*")} & named or kind in generated
            if is_named or declares_release(Resource(sample(served))):
                kinds.setdefault((group, kind), served.kind)
        objects = survey.objects(policies.policies, kinds.values())
        return self._acts(policies, objects, survey.context(policies))

    def _acts(self, policies: PolicySet, objects: Iterable[Resource], context: ScanContext) -> Acts:
        acts = Acts({policy.policy.id: policy for policy in policies.policies}, context.namespaces)
        run_scan(policies.policies, self._stream(objects), acts.add, context)
        return acts

    def _stream(self, objects: Iterable[Resource]) -> Iterator[Resource]:
        """Yield objects once they were asked, without those that the inventory has."""
        for resource in filterfalse(is_legacy, objects):
            self.add(resource)
            yield resource


class Act(StrEnum):
    """An effect of a policy; those whose end costs most come first."""

    DENY = "denying"
    VERIFY = "verifying images"
    GENERATE = "generating"
    MUTATE = "changing objects"
    DELETE = "deleting"
    REPORT = "reporting"
    EXEMPT = "exempting objects"


_OF_TYPES: Final = {
    RuleType.IMAGE_VERIFY: Act.VERIFY,
    RuleType.GENERATION: Act.GENERATE,
    RuleType.MUTATION: Act.MUTATE,
}
_OF_RULES: Final = {
    "verifyImages": Act.VERIFY,
    "generate": Act.GENERATE,
    "mutate": Act.MUTATE,
    CLEANUP: Act.DELETE,
    EXCEPTION: Act.EXEMPT,
}


@dataclass(slots=True)
class Acts:
    """Counts the objects to which policies do something; policies: those that run, by their IDs;
    labels: of namespaces."""

    policies: Mapping[str, RunnablePolicy]
    labels: Mapping[str, Mapping[str, str]]
    objects: int = 0
    _counts: Counter[tuple[str, Act]] = field(default_factory=Counter)
    _violations: Counter[tuple[str, Act]] = field(default_factory=Counter)
    _generated: Counter[str] = field(default_factory=Counter)

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Count an object with its results."""
        self.objects += 1
        acts: set[tuple[str, Act]] = set()
        violated: set[tuple[str, Act]] = set()
        body = resource.body
        for result in results:
            if (policy := self.policies.get(result.policy_id)) is None:
                continue
            name = resource_id(policy.policy.resource)
            act = _OF_TYPES.get(result.type) or self._action(policy, result.rule, resource)
            is_change = result.patched is not None and result.patched != body
            if result.status in _DECIDED and (is_change or act is not Act.MUTATE):
                acts.add((name, act))
            if result.status is Status.FAIL:
                violated.add((name, act))
            if result.status is Status.SKIP and "exceptions" in result.properties:
                for key in _EXCEPTIONS.findall(result.message):
                    acts.add((f"PolicyException/{key}", Act.EXEMPT))
            body = result.patched or body
        self._counts.update(acts)
        self._violations.update(violated)
        labels = mapping_at(resource.body, "metadata", "labels")
        key = "/".join(filter(None, (text_of(labels.get(key)) for key in (_NAMESPACE, _POLICY))))
        self._generated[key] += 1

    def _action(self, policy: RunnablePolicy, rule: str, resource: Resource) -> Act:
        labels = self.labels.get(resource.namespace, {})
        is_denied = policy.action(rule, resource.namespace, labels) == ENFORCE
        return Act.DENY if is_denied else Act.REPORT

    def of(self, resource: Resource) -> Iterator[tuple[Act, str]]:
        """Yield the effects of an object of kyverno.io, the gravest first, each in a few words with
        the number of objects that show it."""
        name = resource_id(resource)
        acts = {act for key, act in self._counts if key == name}
        running = self.policies.values()
        policy = next((form for form in running if resource_id(form.policy.resource) == name), None)
        for rule in legacy_rules(resource):
            act = _OF_RULES.get(rule.type.partition(".")[0])
            if act is None and policy is not None and acts.isdisjoint((Act.DENY, Act.REPORT)):
                act = self._action(policy, rule.name, resource)
            if act is not None:
                acts.add(act)
        for act in sorted(acts, key=list(Act).index):
            yield act, self._with_objects(name, act)

    def _with_objects(self, name: str, act: Act) -> str:
        count, violations = self._counts[name, act], self._violations[name, act]
        generated = self._generated[name.partition("/")[2]]
        if act in (Act.DENY, Act.REPORT) and count:
            return f"{act} ({violations} of {count} violate it)"
        if act is Act.GENERATE and generated:
            return f"{act} ({generated} there, unsynchronized)"
        return f"{act} ({count})" if count else str(act)


@dataclass(slots=True, eq=False)
class Fact:
    """A change of a step, or a fault that it brings, and what it concerns: objects, and settings of
    the chart's values by their keys; is_asked: false for what no object and no value decides."""

    change: Change
    objects: list[Resource] = field(default_factory=list)
    settings: list[tuple[str, Location]] = field(default_factory=list)
    is_asked: bool = True

    @property
    def hits(self) -> bool:
        """Report whether the fact concerns an object or a setting."""
        return bool(self.objects or self.settings)

    def ask(self, releases: Sequence[Values]) -> None:
        """Ask it of the values of the releases of Kyverno's chart, once all objects were asked."""
        change = self.change
        if not change.keys:
            self.is_asked = change.concerned is not None
            return
        for documents in releases:
            settings = [*filter(None, (_setting(documents, key) for key in change.keys))]
            if change.is_default and not settings:
                name = ".".join(map(str, change.keys[0]))
                self.settings.append((f"{name} is not set", documents[-1].location))
            elif not change.is_default:
                self.settings += settings
        if change.concerned is None:
            self.is_asked = bool(releases)
        elif not self.objects or (releases and not self.settings):
            self.objects, self.settings = [], []


def _setting(documents: Values, key: FieldPath) -> tuple[str, Location] | None:
    """Return a key of values with its location in the last document that has it."""
    for document in reversed(documents):
        if value_at(document.body, key) is not None:
            return ".".join(map(str, key)), document.locate(*key)
    return None


@dataclass(frozen=True, slots=True)
class Step:
    """An upgrade of Kyverno to the next minor version, or, where both are one version, what is
    known of the release that runs; announcement: that there is no release yet, else empty."""

    before: Version
    after: Version
    facts: Sequence[Fact]
    announcement: str = ""

    @property
    def title(self) -> str:
        runs = self.before == self.after
        return f"Kyverno {self.before}" + (", as it runs" if runs else f" → {self.after}")


def steps_between(
    start: Version, release: Release | None, target: Version, data: ReleaseData
) -> Sequence[Step]:
    """Return the step that describes the running release (None: the newest of its version), and the
    steps from there to another version."""
    upcoming = announced(data)
    runs = release or _newest(start, data)
    facts = [*changes(data).get(start, ()), *_faults(runs, None, data)]
    # Of the faults that it has anyway those count that an object shows.
    first = [
        change
        for change in facts
        if (change.kind is ChangeKind.FAULT and change.concerned) or _is_later(change, release)
    ]
    steps = [Step(start, start, [*map(Fact, first)])]
    for version in (*matrix(data), *upcoming):
        if start < version <= target:
            newest, announcement = _newest(version, data), upcoming.get(version)
            changed = announcement.changes if announcement else changes(data).get(version, ())
            facts = [fact for fact in changed if fact.kind is not ChangeKind.ADDED]
            facts += _faults(newest, runs, data)
            before = steps[-1].after
            steps.append(Step(before, version, [*map(Fact, facts)], str(announcement or "")))
            runs = newest or runs
    return steps


def _newest(version: Version, data: ReleaseData) -> Release | None:
    row = matrix(data).get(version)
    newest = None if row is None else row.newest_release
    return None if newest is None else newest[0]


def _is_later(change: Change, release: Release | None) -> bool:
    """Report whether a later release of a minor version than the one that runs brings a change."""
    since = parse_release(change.release)
    return release is not None and since is not None and release < since


def _faults(release: Release | None, before: Release | None, data: ReleaseData) -> Iterator[Change]:
    """Yield the faults of a release that another one does not have."""
    for fault in known_faults(data):
        if release is not None and fault.is_in(release) and not fault.is_in(before):
            yield fault.as_change(release)


def environment_values(project: Project, environment: Environment) -> Values:
    """Return the values that an environment has for the engine's chart; none where the project does
    not install it."""
    folder = project.charts / _ENGINE
    files = [file.path for file in environment.engine_values]
    files += [folder / name for name in environment.values_files]
    installed = [file for file in files if environment.engine and file.is_file()]
    return [document for file in installed for document in read_file(file)]


def engine_releases(
    objects: Sequence[Resource], folders: Sequence[Path], note: Note
) -> Iterator[tuple[DeclaredRelease, Values]]:
    """Yield the releases of Kyverno's chart that objects of Argo CD or Flux declare, each with its
    values; folders: in which files of values are looked for, besides the repository; note: called
    for what cannot be read."""
    from chartkit.scan.gitops.releases import checkout_of, declared_releases, values_documents

    for release in declared_releases(objects, Repository(folders, checkout_of), note):
        if release.is_engine:
            for fault in release.faults:
                note(fault)
            yield release, values_documents(release)
