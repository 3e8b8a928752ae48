"""Legacy objects migrated: converted, proved, and written where the user wants them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TextIO

from chartkit.addons.migrate.acceptance import accepted_rules
from chartkit.addons.migrate.assembly import API_VERSION
from chartkit.addons.migrate.charts.chart import ChartMigration, KnownTemplates, migrate_charts
from chartkit.addons.migrate.charts.proof import ValuesCase
from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import Batch, excepts, policy_key
from chartkit.addons.migrate.differences import DELETIONS
from chartkit.addons.migrate.existing import with_violations
from chartkit.addons.migrate.files.beside import beside_charts, object_key, rendered_objects
from chartkit.addons.migrate.files.differing import without_differing
from chartkit.addons.migrate.files.kustomize.carried import Carried, carried
from chartkit.addons.migrate.files.own_tests import objects_of_tests, rewritten, test_files
from chartkit.addons.migrate.files.printed import difference_sentence
from chartkit.addons.migrate.files.surroundings import Mention, mentions, patch_files
from chartkit.addons.migrate.files.texts import (
    SEPARATOR,
    FileText,
    MigratedObject,
    file_texts,
    object_text,
)
from chartkit.addons.migrate.options import ConversionOptions, MigrationOptions
from chartkit.addons.migrate.plan.inventory import (
    API_VERSIONS,
    NOT_RENDERED,
    Inventory,
    LegacyObject,
    read_inventory,
)
from chartkit.addons.migrate.plan.origin import Tool
from chartkit.addons.migrate.proof import Aspect, Proof, ProofOptions, prove
from chartkit.addons.migrate.proof.known import NamedDifferences, reads_context, wildcards_of
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.run import rarely_collected
from chartkit.documents.reader import read_source, read_text
from chartkit.engine import is_exception, read_exceptions
from chartkit.engine.cluster_policy.compile import CompiledPolicy, compile_policy
from chartkit.engine.cluster_policy.policy import KINDS
from chartkit.errors import Bugs, ChartkitError, CompileError, InputError
from chartkit.helm.chart_values import read_values
from chartkit.helm.model import Target as HelmTarget
from chartkit.model import Location, Resource
from chartkit.network.cluster.recording import is_recording
from chartkit.output.atomic_folder import write_together
from chartkit.report.files import with_line_ends
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.inputs import STDIN, Note, read_inputs
from chartkit.scan.parallel.pool import in_order
from chartkit.suggestions import suggestion
from chartkit.testing.model import TestFile
from chartkit.testing.reader import parse_tests

_OUTSIDE: Final = "names {name}, which is outside of the PATHs: the test below --output lacks it"


def targets(
    objects: Iterable[MigratedObject],
    files: Iterable[FileText],
    tests: Sequence[FileText],
    folder: Path,
    paths: Sequence[str],
) -> dict[Path, str]:
    """Return the texts of new files, each with the path of its legacy file below the input."""
    texts = {file.file: file.after for file in files}
    templates = set(texts)
    for migrated_object in objects:
        file = migrated_object.legacy.resource.location.file
        if migrated_object.legacy.document is None and file not in templates:
            before = texts.get(file, "")
            texts[file] = SEPARATOR.join(filter(None, (before, object_text([migrated_object]))))
    by_target: dict[Path, str] = {}
    for file, text in texts.items():
        is_stdin = STDIN in paths and file == "<stdin>" and not Path(file).is_file()
        name = "policies.yaml" if is_stdin else Path(file).name
        target = folder / (_below(Path(file), paths) or name)
        if target in by_target:
            hint = "give each PATH its own --output"
            raise InputError(f"would be written to {target}, as another file", Location(file), hint)
        by_target[target] = text
    return by_target | _with_tests(tests, folder, paths, by_target)


def _with_tests(
    tests: Iterable[FileText], folder: Path, paths: Sequence[str], known: Mapping[Path, str]
) -> dict[Path, str]:
    texts: dict[Path, str] = {}
    for test in tests:
        below = _below(Path(test.file), paths)
        if below is None:
            continue
        texts[folder / below] = test.after
        for _, file in _named(test):
            below = _below(file, paths)
            if below is not None and folder / below not in known:
                texts.setdefault(folder / below, read_source(file))
    return texts


def left_outside(tests: Iterable[FileText], paths: Sequence[str]) -> list[Mention]:
    """Return what tests name that is not below the input, and so in no folder of `--output`."""
    return [
        Mention(Location(test.file), _OUTSIDE.format(name=name))
        for test in tests
        for name, file in _named(test)
        if _below(file, paths) is None
    ]


def _named(test: FileText) -> Iterator[tuple[str, Path]]:
    """Yield the files that a test names, each once, with the names."""
    parsed = parse_tests(Path(test.file), read_text(test.after, test.file))
    names = dict.fromkeys(name for test_file in parsed for name in _names(test_file))
    for name in names:
        place = Path(test.file).parent / name
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from ((name, file) for file in files if file.is_file())


def _names(test: TestFile) -> Iterator[str]:
    yield from (*test.policies, *test.resources, *test.targets, *test.params, *test.payloads)
    yield from (*test.other_payloads, *test.exceptions, *test.cluster_resources)
    yield from filter(None, (test.context, test.variables, test.user_info))
    for row in test.expectations:
        yield from filter(None, (row.patched, *row.generated, row.clone_source))


def _below(file: Path, paths: Sequence[str]) -> Path | None:
    """Return a file's path below the input that it is in, or next to."""
    for path in map(Path, paths):
        root = path if path.is_dir() else path.parent
        if path.exists() and file.resolve().is_relative_to(root.resolve()):
            return file.resolve().relative_to(root.resolve())
    return None


_REQUESTS: Final = 2_500
_MOST_SECONDS: Final = 10.0
_MANY: Final = 16
"""So many objects that are not proved are worth the start of a second process."""
_COLLECTED: Final = 500_000
"""The objects made between proofs after which Python searches for garbage."""

Progress = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""A function that shows the progress of so many steps."""


@dataclass(frozen=True, slots=True)
class Migration:
    """objects: in the order of the inputs; files: those that they are in; tests: the
    `kyverno-test.yaml` files that name them; mentions: what is not carried along; inventory: as it
    was read; patches: those of kustomize that follow; charts: their templates."""

    inventory: Inventory
    objects: Sequence[MigratedObject] = ()
    files: Sequence[FileText] = ()
    tests: Sequence[FileText] = ()
    mentions: Sequence[Mention] = ()
    patches: Carried = field(default_factory=Carried)
    charts: ChartMigration = field(default_factory=ChartMigration)

    @property
    def text(self) -> str:
        """The new policies, one document after the other."""
        by_document: dict[object, list[MigratedObject]] = {}
        for resource in self.objects:
            document = resource.legacy.document
            key = id(resource) if document is None else (document.source.file, document.start)
            by_document.setdefault(key, []).append(resource)
        return SEPARATOR.join(filter(None, map(object_text, by_document.values())))

    def exit_code(self, check: bool) -> int:
        """2 for input that cannot be used or that Kyverno refuses, 1 where something is left to be
        done by hand or, with check, would change, else 0."""
        if self.inventory.findings:
            return 2
        left = any(not resource.is_whole for resource in self.objects) or self.mentions
        return 1 if left or self.inventory.unread or (check and self.objects) else 0


def migrate(options: MigrationOptions, stdin: TextIO, note: Note, progress: Progress) -> Migration:
    """Return the migration of the inputs; nothing is converted where some cannot be used."""
    options.require_one_output()
    paths = options.inventory.paths
    inventory, patching = without_patches(read_inventory(options.inventory, stdin, note))
    if inventory.faults:
        return Migration(inventory)
    tests = test_files(paths)
    given = given_objects(options, inventory, stdin, note)
    migrator = migrator_of(options, inventory, given, tests)
    rendered = rendered_objects(inventory.objects)
    migrated = list(beside_charts(inventory, migrator.all(inventory.objects, progress), rendered))
    files = file_texts(migrated)
    following = carried(inventory, migrated, migrator.migrated)
    in_files = {object_key(item) for item in inventory.objects if item.document is not None}
    changing = [item for item in migrated if object_key(item.legacy) not in rendered - in_files]
    rewriting = rewritten(tests, changing, files)
    outside = left_outside(rewriting.files, paths) if options.folder is not None else ()
    charts = _charts(options, inventory, migrated)
    around = (
        *mentions(inventory, migrated, patching, following, charts),
        *rewriting.mentions,
        *outside,
    )
    for file, text in charts.texts.items():
        files.append(FileText(str(file), read_source(file) if file.is_file() else "", text))
    return Migration(inventory, migrated, files, rewriting.files, around, following, charts)


def _charts(
    options: MigrationOptions, inventory: Inventory, migrated: Sequence[MigratedObject]
) -> ChartMigration:
    """Return the charts of an inventory with both forms in their templates."""
    if options.kinds or not inventory.charts:
        return ChartMigration()
    rendered = [policy for policy in migrated if policy.legacy.origin.tool is Tool.CHART]
    files = {id(policy): Path(policy.legacy.resource.location.file) for policy in rendered}
    differing = {
        f"{policy.legacy.resource.kind}/{policy.legacy.resource.name}": policy.reason
        or policy.fault
        for policy in rendered
        if policy.differs or (policy.conversion is None and policy.reason)
    }
    proved = frozenset(files[id(policy)] for policy in rendered if policy.proof is not None)
    given = options.inventory.values
    cases = [ValuesCase(file.name, read_values([file]).merged) for file in given]
    if len(cases) > 1:
        cases.append(ValuesCase("all values files", read_values(given).merged))
    chart = options.inventory
    served = (*API_VERSIONS, API_VERSION)
    target = HelmTarget(chart.release, chart.namespace, chart.kube_version or "", served)

    def agree(legacy: Resource, forms: Sequence[Resource], conversion: Conversion) -> str:
        settings = proof_options(conversion, options.proof_seconds)
        proof = prove(legacy, forms, (), options=settings)
        if not (faults := proof.faults):
            return ""
        return f"the forms differ: {difference_sentence(faults[0])}"

    templates = KnownTemplates(proved, differing)
    asked = agree if options.prove else None
    return migrate_charts(inventory.charts, cases, target, templates, asked)


def without_patches(inventory: Inventory) -> tuple[Inventory, list[LegacyObject]]:
    """Return the inventory without the objects of files that are kustomize patches, and these."""
    patches = patch_files(inventory)
    if not patches:
        return inventory, []
    patching = [item for item in inventory.objects if _file(item.resource.location) in patches]
    kept = tuple(legacy for legacy in inventory.objects if legacy not in patching)
    faults = tuple(
        row for row in inventory.faults if not (row.location and _file(row.location) in patches)
    )
    return replace(inventory, objects=kept, faults=faults), patching


def _file(location: Location) -> Path:
    # `resolve` fails at a link that leads to itself.
    return Path(os.path.realpath(location.file))


def migrator_of(
    options: ConversionOptions,
    inventory: Inventory,
    given: Sequence[Resource] = (),
    tests: Sequence[Path] = (),
) -> Migrator:
    """Return the migrator of an inventory; given: objects for every proof; tests: files whose
    objects are for the proofs of the policies that they name.

    Raise InputError for a difference that is allowed for a policy that is not there.
    """
    names = {legacy_object.resource.name for legacy_object in inventory.objects}
    for policy in sorted(options.reasons):
        if policy not in names:
            message = f"--allow-difference {policy}: no policy has this name"
            raise InputError(message, hint=suggestion(policy, names))
    batch = Batch((item.current or item.resource for item in inventory.objects), options.target)
    tested = objects_of_tests(tests) if options.prove else {}
    return Migrator(options, given, tested, batch)


@dataclass(frozen=True, slots=True)
class Migrator:
    """Converts objects and proves the conversions; given: objects for every proof, tested: those of
    tests, by the policy's file."""

    options: ConversionOptions
    given: Sequence[Resource]
    tested: Mapping[Path, Sequence[Resource]]
    batch: Batch

    def all(self, objects: Sequence[LegacyObject], progress: Progress) -> list[MigratedObject]:
        """Return the migrated objects in order, made in several processes."""
        is_long = self.options.prove or len(objects) >= _MANY
        jobs = min(self.options.jobs, len(objects)) if is_long else 1
        migrated = []
        with rarely_collected(_COLLECTED), progress(len(objects)) as step:
            made = in_order(jobs, self, objects, lambda one: ("a policy", one.resource.location))
            for legacy, migrated_object in zip(objects, made, strict=True):
                # The object itself stays here: its identity tells the items of a List apart.
                migrated.append(replace(migrated_object, legacy=legacy))
                step()
        staying = {policy_key(policy.legacy.resource) for policy in migrated if policy.differs}
        for at, item in enumerate(migrated):
            resource = item.legacy.resource
            named = [key for key in staying if is_exception(resource) and excepts(resource, key)]
            if named:
                # No exception is written from a policy that stays.
                reason = f"policy {min(named)} stays, since its proof does not hold"
                migrated[at] = MigratedObject(item.legacy, None, reason)
        return migrated

    def __call__(self, legacy: LegacyObject) -> MigratedObject:
        return self.migrated(legacy, self.options.prove)

    def migrated(self, legacy: LegacyObject, proves: bool) -> MigratedObject:
        """Return an object migrated, with a proof or without one."""
        if legacy.is_code:
            return MigratedObject(legacy, None, NOT_RENDERED)
        with Bugs(legacy.resource.location):
            resource = legacy.current or legacy.resource
            try:
                conversion = self.batch.convert(resource).remarked(legacy.replaced)
                proof = self._proof(legacy, conversion) if proves else None
                if proof is not None and self._separates(conversion):
                    conversion, proof = without_differing(
                        conversion,
                        proof,
                        lambda one, left: self.batch.convert(one, left).remarked(legacy.replaced),
                        lambda one, cases: self._proof(legacy, one, cases),
                    )
                old, _ = self.batch.exceptions_from(resource)
                exceptions = read_exceptions(old).exceptions
                conversion = with_violations(conversion, self.given, exceptions)
            except CompileError as error:
                return MigratedObject(legacy, None, f"Kyverno refuses the policy: {error.message}")
            except ChartkitError as error:
                return MigratedObject(legacy, None, error.message)
            allowed = self.options.reasons.get(resource.name, "")
            return MigratedObject(legacy, conversion, proof=proof, allowed=allowed)

    def _separates(self, conversion: Conversion) -> bool:
        """Report whether rules that differ are left without the others: not where exceptions name
        the policy, whose new form names policies."""
        resource = conversion.legacy
        is_taken = resource.name in self.options.reasons
        is_named = bool(self.batch.exceptions_from(resource)[0])
        return self.options.target.splits and not (is_taken or is_named)

    def _proof(
        self, legacy: LegacyObject, conversion: Conversion, cases: Sequence[Case] = ()
    ) -> Proof | None:
        """Return the proof of a conversion, with given requests alone where there are some; the
        rules that are left are in both forms, and those that Kyverno refuses in none. An exception
        says nothing by itself."""
        if not conversion.documents or is_exception(legacy.resource):
            return None
        old, new = self.batch.exceptions_from(conversion.legacy)
        forms = [
            Resource(body, legacy.resource.location)
            for body in (*conversion.documents, conversion.standing)
            if body is not None
        ]
        forms += [resource for resource in new if not is_exception(resource)]
        objects = (*self.tested.get(_file(legacy.resource.location), ()), *self.given)
        options = replace(
            proof_options(conversion, self.options.proof_seconds),
            exceptions=tuple(old),
            legacy_attachments=read_exceptions(old),
            new_attachments=read_exceptions(new),
        )
        if cases:
            options = replace(options, most_requests=len(cases))
        accepted = conversion.accepted or conversion.legacy
        return prove(accepted, forms, objects, requests=cases, options=options)


def proof_options(conversion: Conversion, seconds: float | None = None) -> ProofOptions:
    """Return the settings of a proof that knows what the conversion says differs; seconds: its
    processor time. Without them it ends after a number of requests, and so with the same result on
    every machine, unless they take far longer than usual."""
    outcomes = conversion.outcomes
    changes = [change for outcome in outcomes for change in (*outcome.changes, *outcome.remarks)]
    if any(outcome.drops_deletions for outcome in outcomes):
        changes.append(DELETIONS)
    assumed = {path: kind for outcome in outcomes for path, kind in outcome.assumed.items()}
    legacy = conversion.legacy
    wildcards, by_context = wildcards_of(legacy), reads_context(legacy)
    named = NamedDifferences(True, changes, assumed, wildcards, by_context)
    options = ProofOptions(passed_over=frozenset({Aspect.MESSAGE}), named=named)
    if seconds is None:
        return replace(options, budget=_MOST_SECONDS, most_requests=_REQUESTS)
    return replace(options, budget=seconds)


def write(migration: Migration, options: MigrationOptions) -> None:
    """Write all files, in place or into a folder, or raise InputError without writing any."""
    if options.write:
        if STDIN in options.inventory.paths:
            raise InputError("standard input cannot be written in place", hint="name a file")
        written = (*migration.files, *migration.tests, *migration.patches.files)
        changed = [file for file in written if file.changes]
        texts = {Path(file.file): file.after for file in changed}
        write_together(
            {
                path: with_line_ends(path, text) if path.exists() else text
                for path, text in texts.items()
            }
        )
    elif options.folder is not None:
        texts = targets(
            migration.objects,
            [*migration.files, *migration.patches.files],
            migration.tests,
            options.folder,
            options.inventory.paths,
        )
        write_together(texts)


def given_objects(
    options: ConversionOptions, inventory: Inventory, stdin: TextIO, note: Note
) -> list[Resource]:
    """Return the objects that options name for proofs; of recordings, those of kinds that the
    policies match.

    note: called with a row for each file of a folder that cannot be read. Raise InputError and
    SourceError for what else cannot be read.
    """
    if not options.prove:
        return []
    recordings = [path for path in options.inventory.paths if is_recording(Path(path))]
    resources: list[Resource] = []
    for path in dict.fromkeys((*options.objects, *recordings)):
        if is_recording(Path(path)):
            resources += _recorded(Path(path), inventory.objects)
        else:
            resources += read_inputs([path], stdin, note)
    return resources


def _recorded(folder: Path, legacy: Sequence[LegacyObject]) -> Iterator[Resource]:
    from chartkit.network.cluster.reader import kinds_to_read
    from chartkit.scan.cluster import open_cluster

    policies = list[CompiledPolicy]()
    for policy in legacy:
        if policy.resource.kind in KINDS:
            with suppress(CompileError):  # of which no rule converts
                accepted, _ = accepted_rules(policy.current or policy.resource)
                policies.append(compile_policy(accepted))
    with open_cluster(ClusterSource(None, folder, "", None)) as reader:
        for served in kinds_to_read(policies, reader.discovery):
            yield from reader.objects(served)
