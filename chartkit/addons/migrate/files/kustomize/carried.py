"""Kustomizations and their patches with the new policies in place of the old ones."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chartkit.addons.migrate.files.kustomize.builds import Builds
from chartkit.addons.migrate.files.kustomize.entries import NewEntry
from chartkit.addons.migrate.files.kustomize.patches import StaysError, difference
from chartkit.addons.migrate.files.texts import FileText, MigratedObject
from chartkit.addons.migrate.plan.inventory import Inventory, LegacyObject
from chartkit.documents.reader import Document
from chartkit.engine.kubernetes.kinds import CEL_GROUP
from chartkit.helm.kustomize import is_kustomization
from chartkit.model import Body, Resource
from chartkit.output.round_trip import loaded

Migrate = Callable[[LegacyObject, bool], MigratedObject]
"""A function that migrates a legacy object, with a proof or without one."""

_SHARED: Final = "its file is another patch, too, which does not become the same"
_SETTINGS: Final = frozenset(
    {"validationActions", "failurePolicy", "webhookConfiguration", "evaluation", "schedule"}
)
_KNOWN: Final = _SETTINGS | {
    "autogen",
    "deletionPropagationPolicy",
    "matchConditions",
    "matchConstraints",
    "validationConfigurations",
}
"""The fields of a spec that a patch may change; what is not in `_SETTINGS` is proved."""


@dataclass(frozen=True, slots=True)
class Carried:
    """files: kustomizations and patches with their new texts; count: of the patches that follow;
    reasons: why an entry stays, by its kustomization and the steps to it, and by its file."""

    files: Sequence[FileText] = ()
    count: int = 0
    places: frozenset[tuple[Path, tuple[str | int, ...]]] = frozenset()
    reasons: Mapping[tuple[Path, tuple[str | int, ...]], str] = field(default_factory=dict)

    def follows(self, file: Path, steps: tuple[str | int, ...] = ()) -> bool:
        """Return whether what is at steps of a file is a patch that follows."""
        return (file.resolve(), steps[:2]) in self.places

    def reason(self, file: Path, steps: tuple[str | int, ...] = ()) -> str:
        """Return why a patch stays, empty where nothing is known."""
        return self.reasons.get((file.resolve(), steps[:2]), "")


def carried(inventory: Inventory, migrated: Sequence[MigratedObject], migrate: Migrate) -> Carried:
    """Return the kustomizations among the inputs with patches of the new policies."""
    kustomizations = [each for each in inventory.documents if is_kustomization(each)]
    objects = {id(each.legacy.resource.body): each for each in migrated}
    shared: dict[Path, str] = {}
    while True:
        builds = Builds(inventory.documents, objects, _Converter(migrate).convert, shared)
        for each in kustomizations:
            builds.build(each)
        found = {file for file, texts in builds.texts.items() if len(texts) > 1} - shared.keys()
        if not found:
            return _carried(builds)
        shared |= dict.fromkeys(found, _SHARED)


@dataclass(frozen=True, slots=True)
class _Converter:
    migrate: Migrate

    def convert(
        self, migrated: MigratedObject, body: Body, documents: Sequence[Body]
    ) -> Sequence[Body]:
        """Return what a patched policy converts to; raise StaysError where that is not the same
        policies with other settings."""
        legacy = migrated.legacy
        patched = LegacyObject(
            Resource(body, legacy.resource.location), legacy.origin, legacy.rules
        )
        found = self.migrate(patched, False)
        if found.reason or not found.is_whole:
            reasons = filter(None, (found.reason, *(each.reason for each in found.outcomes)))
            raise StaysError(f"the patched policy does not convert: {next(reasons, '')}")
        if list(map(_identity, found.documents)) != list(map(_identity, documents)):
            raise StaysError("the patched policy becomes other policies")
        known = {change for each in migrated.outcomes for change in each.changes}
        changes = [one for each in found.outcomes for one in each.changes if one not in known]
        if changes:
            raise StaysError(f"the patched policy changes: {changes[0]}")
        touched = set().union(*map(_touched, documents, found.documents))
        if touched - _SETTINGS and migrated.proof is not None:
            proved = self.migrate(patched, True)
            if proved.differs:
                raise StaysError(f"the patched policy differs: {proved.fault}")
        return found.documents


def _identity(body: Body) -> tuple[object, ...]:
    metadata = body["metadata"]
    return body["apiVersion"], body["kind"], metadata["name"], metadata.get("namespace")


def _touched(old: Body, new: Body) -> set[str]:
    """Return the fields of a spec that change; raise StaysError for what a patch must not."""
    merge = difference(old, new)
    spec = set(merge.get("spec", ()))
    if merge and not str(old["apiVersion"]).startswith(f"{CEL_GROUP}/"):
        raise StaysError("kustomize merges lists of Kubernetes' own policies")
    metadata = set(merge.get("metadata", ())) - {"labels", "annotations"}
    other = sorted((spec - _KNOWN) | metadata | (merge.keys() - {"metadata", "spec"}))
    if other:
        raise StaysError(f"it changes {other[0]} of {old['kind']}/{old['metadata']['name']}")
    return spec


def _carried(builds: Builds) -> Carried:
    places: set[tuple[Path, tuple[str | int, ...]]] = set()
    reasons: dict[tuple[Path, tuple[str | int, ...]], str] = {}
    changed: dict[Path, dict[tuple[str, int], NewEntry]] = {}
    texts: dict[Path, str] = {}
    for (file, key, index), (entry, new) in builds.entries.items():
        places.add((file, (key, index)))
        changed.setdefault(file, {})[key, index] = new
        if entry.file is not None:
            places.add((entry.file, ()))
            texts[entry.file] = new.text
    for (file, key, index), reason in builds.reasons.items():
        reasons[file, (key, index)] = reason
    reasons |= {(file, ()): reason for file, reason in builds.file_reasons.items()}
    files = [
        _kustomization(builds.documents[file][0], entries) for file, entries in changed.items()
    ]
    for file, text in texts.items():
        source = builds.documents[file][0].source
        files.append(FileText(source.file, source.text, text))
    count = len(builds.entries)
    return Carried([each for each in files if each.changes], count, frozenset(places), reasons)


def _kustomization(document: Document, entries: Mapping[tuple[str, int], NewEntry]) -> FileText:
    """Return a kustomization with new entries."""
    from ruamel.yaml.scalarstring import LiteralScalarString

    before = document.source.text
    yaml, body = loaded(before, document.source.file)
    for (key, index), new in entries.items():
        entry = body[key][index]
        if isinstance(entry, str):
            if "\n" in entry:
                body[key][index] = LiteralScalarString(new.text)
            continue
        if "path" not in entry:
            entry["patch"] = LiteralScalarString(new.text)
        if new.target is None:
            entry.pop("target", None)
        else:
            _retarget(entry["target"], new.target)
    out = io.StringIO()
    yaml.dump(body, out)
    return FileText(document.source.file, before, out.getvalue())


def _retarget(target: Any, new: Body) -> None:
    for key in ("version", "name"):
        if key not in new:
            target.pop(key, None)
    for index, (key, value) in enumerate(new.items()):
        if key in target:
            target[key] = value
        else:
            target.insert(index, key, value)
