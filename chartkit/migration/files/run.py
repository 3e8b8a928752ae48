"""Legacy objects migrated: converted, proved, and written where the user wants them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from chartkit.engine.cluster_policy.policy_reader import KINDS
from chartkit.errors import ChartkitError, CompileError, InputError
from chartkit.migration.convert import convert
from chartkit.migration.files.migrated import MigratedObject
from chartkit.migration.files.options import MigrationOptions
from chartkit.migration.files.texts import SEPARATOR, FileText, file_texts, object_text
from chartkit.migration.inventory import Inventory, LegacyObject, read_inventory
from chartkit.migration.proof import ProofOptions, prove
from chartkit.model import Location, Resource
from chartkit.report.outputs import write_over, write_whole
from chartkit.scan.inputs import STDIN, Note, read_inputs

Progress = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""A function that shows the progress of so many steps."""


@dataclass(frozen=True, slots=True)
class Migration:
    """objects: in the order of the inputs; files: those that they are in; inventory: as it was
    read."""

    inventory: Inventory
    objects: Sequence[MigratedObject]
    files: Sequence[FileText]

    @property
    def text(self) -> str:
        """The new policies, one document after the other."""
        found: dict[object, list[MigratedObject]] = {}
        for each in self.objects:
            document = each.legacy.document
            key = id(each) if document is None else (document.source.file, document.start)
            found.setdefault(key, []).append(each)
        return SEPARATOR.join(filter(None, map(object_text, found.values())))

    def exit_code(self, check: bool) -> int:
        """2 for input that cannot be used, 1 where something is left to be done by hand or, with
        check, would change, else 0."""
        if self.inventory.faults:
            return 2
        left = any(not each.is_whole for each in self.objects) or self.inventory.unread
        return 1 if left or (check and self.objects) else 0


def migrate(options: MigrationOptions, stdin: TextIO, note: Note, progress: Progress) -> Migration:
    """Return the migration of the inputs; nothing is converted where some cannot be used."""
    options = options.checked()
    reasons, _ = options.reasons, options.seconds
    inventory = read_inventory(options.inventory, stdin, note)
    if inventory.faults:
        return Migration(inventory, (), ())
    unknown = reasons.keys() - {each.resource.name for each in inventory.objects}
    if unknown:
        raise InputError(f"--allow-difference {min(unknown)}: no policy has this name")
    objects = read_inputs(options.objects, stdin, note) if options.objects else []
    one = partial(_migrated, objects=objects, options=options)
    with progress(len(inventory.objects)) as step:
        migrated = []
        for each in _each(one, inventory.objects, options):
            migrated.append(each)
            step()
    return Migration(inventory, migrated, file_texts(migrated))


def _each(
    one: Callable[[LegacyObject], MigratedObject],
    objects: Sequence[LegacyObject],
    options: MigrationOptions,
) -> Iterator[MigratedObject]:
    """Yield the migrated objects in order; proofs run in several processes."""
    jobs = min(options.jobs, len(objects))
    if jobs < 2 or not options.prove:
        yield from map(one, objects)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context()) as pool:
        # The object itself stays here: its identity tells the items of a List apart.
        for legacy, made in zip(objects, pool.map(one, objects), strict=True):
            yield MigratedObject(legacy, made.conversion, made.reason, made.proof, made.allowed)


def _migrated(
    legacy: LegacyObject, objects: Sequence[Resource], options: MigrationOptions
) -> MigratedObject:
    resource = legacy.resource
    if resource.kind not in KINDS:
        return MigratedObject(legacy, None, f"objects of kind {resource.kind} are not converted")
    try:
        conversion = convert(resource)
    except ChartkitError as error:
        return MigratedObject(legacy, None, error.message)
    if not options.prove or not conversion.documents:
        return MigratedObject(legacy, conversion)
    forms = [Resource(body, resource.location) for body in conversion.documents]
    if conversion.remaining is not None:
        forms.append(Resource(conversion.remaining, resource.location))
    try:
        proof = prove(resource, forms, objects, options=ProofOptions(budget=options.seconds))
    except CompileError as error:
        return MigratedObject(legacy, None, f"the new form does not compile: {error.message}")
    return MigratedObject(
        legacy, conversion, proof=proof, allowed=options.reasons.get(resource.name, "")
    )


def write(migration: Migration, options: MigrationOptions) -> None:
    """Write the files, in place or into a folder; raise InputError where that cannot be done."""
    if options.write:
        _require_files(migration)
        for file in migration.files:
            if file.changes:
                write_over(Path(file.file), file.after)
    elif options.folder is not None:
        targets = _targets(migration, options.folder, options.inventory.paths)
        for target, text in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, text)


def _require_files(migration: Migration) -> None:
    """Raise InputError for an object that is in no file which could be rewritten."""
    for each in migration.objects:
        document, place = each.legacy.document, each.legacy.resource.location
        if document is None:
            origin = each.legacy.origin
            what = f"is rendered by {origin}" if str(origin) else "is in a cluster"
            hint = "leave --write out, and change what renders it by hand"
            raise InputError(f"{what}, and cannot be rewritten in place", place, hint)
        if not Path(document.source.file).is_file():
            raise InputError("standard input cannot be rewritten in place", place)


def _targets(migration: Migration, folder: Path, paths: Sequence[str]) -> dict[Path, str]:
    """Return the texts of new files, each with the path of its legacy file below the input."""
    texts = {file.file: file.after for file in migration.files}
    for each in migration.objects:
        if each.legacy.document is None:
            file = each.legacy.resource.location.file
            before = texts.get(file, "")
            texts[file] = SEPARATOR.join(filter(None, (before, object_text([each]))))
    targets: dict[Path, str] = {}
    for file, text in texts.items():
        target = folder / _relative(file, paths)
        if target in targets:
            hint = "give each PATH its own --output"
            raise InputError(f"would be written to {target}, as another file", Location(file), hint)
        targets[target] = text
    return targets


def _relative(file: str, paths: Sequence[str]) -> Path:
    if not Path(file).is_file() and STDIN in paths and file == "<stdin>":
        return Path("policies.yaml")
    for path in paths:
        if Path(path).is_dir() and Path(file).is_relative_to(path):
            return Path(file).relative_to(path)
    return Path(Path(file).name)
