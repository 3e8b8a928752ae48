"""Kustomizations and their patches with the new policies in place of the old ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.files.kustomize.entries import (
    JSON_PATCHES,
    MERGES,
    Build,
    BuiltObject,
    Change,
    Entry,
    NewEntry,
    built,
    read_entry,
    retargeted,
    rewritten,
)
from chartkit.addons.migrate.files.kustomize.patches import (
    Merge,
    Patch,
    StaysError,
    difference,
    identity,
)
from chartkit.addons.migrate.files.texts import FileText, MigratedObject, named_in
from chartkit.addons.migrate.plan.inventory import Inventory, LegacyObject
from chartkit.documents.reader import Document, resources
from chartkit.engine.kubernetes.kinds import CEL_GROUP
from chartkit.errors import InputError
from chartkit.helm.kustomize import is_kustomization
from chartkit.model import Body, Json, Resource, list_of, mapping_at
from chartkit.output.yaml_edit import rewritten as edited

Place = tuple[Path, str, int]
"""An entry's place: the kustomization, the list, and the index in it."""
Convert = Callable[[MigratedObject, Body, Sequence[Body]], Sequence[Body]]
"""A function that converts a patched policy, given what it became so far; it raises StaysError."""

_BEFORE: Final = (MERGES, "patches")
"""The lists of patches that kustomize applies before names and labels are given."""
_DEEPEST: Final = 50
"""The most kustomizations that may stand on one another."""
_COMPONENTS: Final = (
    "its kustomization has a component that is not among the PATHs, or that it has already"
)
_GENERATING: Final = ("generators", "helmCharts", "helmChartInflationGenerator")
_CHANGING: Final = (
    "transformers",
    "configurations",
    "replacements",
    "vars",
    "crds",
    "openapi",
)


class _NothingError(StaysError):
    """A patch that the new policies do not need."""


@dataclass(slots=True)
class Builds:
    """The builds of the kustomizations among documents.

    migrated: legacy policies by the identity of their bodies; shared: files of patches, and entries
    of components, that cannot follow, for they would need different ones; entries, reasons: what
    was found: the new form of each entry, or why it has none; texts: the new forms of each file and
    entry, None for one that stays; depth: how many are being built; folders: the kustomizations of
    each.
    """

    documents: Mapping[Path, Sequence[Document]]
    migrated: Mapping[int, MigratedObject]
    convert: Convert
    shared: Mapping[Path | Place, str]
    entries: dict[Place, tuple[Entry, NewEntry]] = field(default_factory=dict)
    reasons: dict[Place, str] = field(default_factory=dict)
    file_reasons: dict[Path, str] = field(default_factory=dict)
    texts: dict[Path | Place, set[str | None]] = field(default_factory=dict)
    done: dict[Path, Build] = field(default_factory=dict)
    depth: int = 0
    folders: dict[Path, list[Path]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in filter(is_kustomization, self.documents):
            self.folders.setdefault(path.parent, []).append(path)

    def build(self, file: Path) -> Build:
        """Return what a kustomization builds, with its patches applied to both forms."""
        if file not in self.done:
            if self.depth == _DEEPEST:
                reason = f"its kustomization stands on more than {_DEEPEST} others"
                return Build(is_open=True, reason=reason)
            self.done[file] = Build(is_open=True)  # while it is built: one that contains itself
            self.depth += 1
            build = Build()
            self._accumulate(build, file, {file})
            self.done[file] = build
            self.depth -= 1
        return self.done[file]

    def _accumulate(self, build: Build, file: Path, taken: set[Path]) -> None:
        """Add what a kustomization, or a component of one, has to a build, and patch all of it;
        taken: the components so far, and the kustomization."""
        documents = self.documents[file]
        body = mapping_at(documents[0].body) if documents else {}
        build.is_open = build.is_open or any(map(body.get, _GENERATING))
        for name in (*list_of(body.get("resources")), *list_of(body.get("bases"))):
            build.add(self._resources(file.parent, str(name)))
        build.forget_repeated()
        for name in list_of(body.get("components")):
            component = self.folders.get(named_in(file.parent, str(name)), [])
            if len(component) != 1 or component[0] in taken or len(taken) > _DEEPEST:
                build.reason = build.reason or _COMPONENTS
                continue
            taken.add(component[0])
            self._accumulate(build, component[0], taken)
        build.reason = build.reason or _unknown(documents)
        for key in _BEFORE:
            self._entries(build, file, key, body)
        build.transform(body)
        if body.get("commonLabels") or body.get("labels") or body.get("commonAnnotations"):
            # Forget new forms that labels and annotations change in another way.
            for resource in build.objects:
                if resource.migrated is not None and resource.documents is not None:
                    try:
                        made = self.convert(resource.migrated, resource.body, resource.documents)
                    except StaysError:
                        made = ()
                    if list(made) != list(resource.documents):
                        resource.documents = None
        self._entries(build, file, JSON_PATCHES, body)

    def _resources(self, folder: Path, name: str) -> Build:
        """Return the objects of an entry of `resources`."""
        place = named_in(folder, name)
        if place in self.documents:
            try:
                objects = resources(self.documents[place])
            except InputError:
                return Build(is_open=True)
            return Build(list(built(objects, self.migrated)))
        below = self.folders.get(place, [])
        return self.build(below[0]) if len(below) == 1 else Build(is_open=True)

    def _entries(self, build: Build, file: Path, key: str, body: Body) -> None:
        for index, raw in enumerate(list_of(body.get(key))):
            place = (file, key, index)
            entry = None
            try:
                entry = read_entry(key, raw, file.parent, self.documents)
                new = self._carried(build, entry, place)
            except StaysError as reason:
                new = None
                self.reasons[place] = reason.message
                if not isinstance(reason, _NothingError):
                    _forget(build, entry, raw)
                if entry is not None and entry.file is not None:
                    self.file_reasons[entry.file] = reason.message
            if entry is not None and new is not None:
                self.entries[place] = entry, new
            if entry is not None and entry.file is not None:
                self.texts.setdefault(entry.file, set()).add(None if new is None else new.text)
            self.texts.setdefault(place, set()).add(None if new is None else repr(new))

    def _carried(self, build: Build, entry: Entry, place: Place) -> NewEntry | None:
        """Return the new form of an entry, None for one that is for no policy."""
        changes: dict[int, list[Change]] = {}
        made: list[tuple[BuiltObject, Body, Sequence[Body]]] = []
        for index, patch in enumerate(entry.patches):
            for policy in _policies(build, entry, patch):
                shared = self.shared.get(entry.file or place) or self.shared.get(place)
                if shared:
                    raise StaysError(shared)
                body, documents = self._patched(build, policy, patch)
                made.append((policy, body, documents))
                pairs = zip(policy.documents or (), documents, strict=True)
                changes.setdefault(index, []).extend(
                    Change(old, merge) for old, new in pairs if (merge := difference(old, new))
                )
        if not made:
            return None
        if not all(changes.values()):
            for policy, body, _ in made:
                policy.body = body
            raise _NothingError("it changes nothing of the new policies: remove it")
        if entry.target is None:
            new = rewritten(entry, changes)
        else:
            new = retargeted(entry, changes[0], lambda target: list(_selected(build, target)))
        for policy, body, documents in made:
            policy.body, policy.documents = body, documents
        return new

    def _patched(
        self, build: Build, policy: BuiltObject, patch: Patch
    ) -> tuple[Body, Sequence[Body]]:
        if build.reason:
            raise StaysError(build.reason)
        if policy.migrated is None or not policy.migrated.is_whole:
            raise StaysError(f"{policy.name} does not convert as a whole")
        if policy.documents is None:
            raise StaysError(f"{policy.name} has another patch that is not carried along")
        body = patch.apply(policy.body)
        return body, self.convert(policy.migrated, body, policy.documents)


def _unknown(documents: Sequence[Document]) -> str:
    """Return why what a kustomization makes of policies is not known, empty where it is."""
    if len(documents) != 1:
        return "its kustomization has several documents"
    body = mapping_at(documents[0].body)
    if not any(map(body.get, (*_BEFORE, JSON_PATCHES, *_CHANGING))):
        return ""
    changing = next((key for key in _CHANGING if body.get(key)), "")
    if any("fields" in mapping_at(label) for label in list_of(body.get("labels"))):
        changing = "labels.fields"
    if changing:
        return f"its kustomization has {changing}"
    return ""


def _policies(build: Build, entry: Entry, patch: Patch) -> list[BuiltObject]:
    """Return the legacy policies that a patch is for; raise StaysError if there are others, too."""
    if entry.target is not None:
        built_objects = build.selected(entry.target)
    elif isinstance(patch, Merge):
        built_objects = [resource for resource in build.objects if resource.is_named(patch)]
    policies = [built_object for built_object in built_objects if built_object.migrated is not None]
    others = [built_object for built_object in built_objects if built_object.migrated is None]
    if policies and others:
        raise StaysError(f"it is for {others[0].name}, too")
    return policies


def _selected(build: Build, target: Body) -> Iterator[Body]:
    """Yield the documents of the new build that a target selects."""
    for built_object in build.objects:
        bodies = [built_object.body]
        if built_object.migrated is not None:
            bodies = list(built_object.documents or built_object.migrated.documents)
        yield from (body for body in bodies if built_object.is_selected(target, body))


def _forget(build: Build, entry: Entry | None, raw: Json) -> None:
    """Forget the new form of the objects that a patch which does not follow may be for."""
    target = mapping_at(raw).get("target")
    for built_object in build.objects:
        if isinstance(target, dict):
            try:
                is_meant = built_object.is_selected(target)
            except StaysError:
                is_meant = True
        else:
            merges = () if entry is None else entry.patches
            named = [built_object.is_named(merge) for merge in merges if isinstance(merge, Merge)]
            is_meant = any(named) or not named
        if is_meant:
            built_object.documents = None


Migrate = Callable[[LegacyObject, bool], MigratedObject]
"""A function that migrates a legacy object, with a proof or without one."""

_SHARED: Final = "its file is another patch, too, which does not become the same"
_DIFFERS: Final = "it becomes another patch where another kustomization has its component"
_SETTINGS: Final = frozenset(
    {"validationActions", "failurePolicy", "webhookConfiguration", "evaluation", "schedule"}
)
"""The fields of a spec that a patch may change without a proof."""


@dataclass(frozen=True, slots=True)
class Carried:
    """files: kustomizations and patches with their new texts; count: of the patches that follow;
    reasons: why an entry stays, by its kustomization and the steps to it, and by its file."""

    files: Sequence[FileText] = ()
    count: int = 0
    places: frozenset[tuple[Path, tuple[str | int, ...]]] = frozenset()
    reasons: Mapping[tuple[Path, tuple[str | int, ...]], str] = field(default_factory=dict)

    def follows(self, file: Path, steps: tuple[str | int, ...] = ()) -> bool:
        """Report whether what is at steps of a file is a patch that follows."""
        return (file.resolve(), steps[:2]) in self.places

    def reason(self, file: Path, steps: tuple[str | int, ...] = ()) -> str:
        """Return why a patch stays, empty where nothing is known."""
        return self.reasons.get((file.resolve(), steps[:2]), "")


def carried(inventory: Inventory, migrated: Sequence[MigratedObject], migrate: Migrate) -> Carried:
    """Return the kustomizations among the inputs with patches of the new policies."""
    kustomizations = [document for document in inventory.documents if is_kustomization(document)]
    objects = {id(policy.legacy.resource.body): policy for policy in migrated}
    shared: dict[Path | Place, str] = {}
    while True:
        builds = Builds(inventory.documents, objects, _Converter(migrate).convert, shared)
        for path in kustomizations:
            kinds = [
                mapping_at(document.body).get("kind") for document in inventory.documents[path]
            ]
            if "Component" not in kinds:
                builds.build(path)
        paths = {key for key, texts in builds.texts.items() if len(texts) > 1} - shared.keys()
        if not paths:
            return _carried(builds)
        shared |= {key: _SHARED if isinstance(key, Path) else _DIFFERS for key in paths}


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
        new = self.migrate(patched, False)
        if new.reason or not new.is_whole:
            reasons = filter(None, (new.reason, *(outcome.reason for outcome in new.outcomes)))
            raise StaysError(f"the patched policy does not convert: {next(reasons, '')}")
        if list(map(identity, new.documents)) != list(map(identity, documents)):
            raise StaysError("the patched policy becomes other policies")
        known = {change for outcome in migrated.outcomes for change in outcome.changes}
        changes = [
            said for outcome in new.outcomes for said in outcome.changes if said not in known
        ]
        if changes:
            raise StaysError(f"the patched policy changes: {changes[0]}")
        touched = set().union(*map(_touched, documents, new.documents))
        if touched - _SETTINGS and migrated.proof is not None:
            proved = self.migrate(patched, True)
            if proved.differs:
                raise StaysError(f"the patched policy differs: {proved.fault}")
        return new.documents


def _touched(old: Body, new: Body) -> set[str]:
    """Return the fields of a spec that change; raise StaysError for what kustomize would merge
    otherwise."""
    merge = difference(old, new)
    if merge and not str(old["apiVersion"]).startswith(f"{CEL_GROUP}/"):
        raise StaysError("kustomize merges lists of Kubernetes' own policies")
    return set(merge.get("spec", ()))


def _carried(builds: Builds) -> Carried:
    reasons: dict[tuple[Path, tuple[str | int, ...]], str] = {}
    for (file, key, index), reason in builds.reasons.items():
        reasons[file, (key, index)] = reason
    reasons |= {(file, ()): reason for file, reason in builds.file_reasons.items()}
    changed: dict[Path, dict[tuple[str, int], tuple[Entry, NewEntry]]] = {}
    for (file, key, index), entries in builds.entries.items():
        changed.setdefault(file, {})[key, index] = entries
    places: set[tuple[Path, tuple[str | int, ...]]] = set()
    files: list[FileText] = []
    texts: dict[Path, str] = {}
    for file, by_place in changed.items():
        try:
            files.append(_kustomization(builds.documents[file][0], by_place))
        except InputError as error:
            reason = f"its kustomization {error.message}"
            reasons |= {(file, place): reason for place in by_place}
            continue
        places |= {(file, place) for place in by_place}
        texts |= {entry.file: new.text for entry, new in by_place.values() if entry.file}
    places |= {(file, ()) for file in texts}
    for file, text in texts.items():
        source = builds.documents[file][0].source
        files.append(FileText(source.file, source.text, text))
    count = sum(1 for _, place in places if place)
    return Carried([file for file in files if file.changes], count, frozenset(places), reasons)


def _kustomization(
    document: Document, entries: Mapping[tuple[str, int], tuple[Entry, NewEntry]]
) -> FileText:
    """Return a kustomization with new entries; raise InputError where it cannot be edited."""
    before = document.source.text
    body = deepcopy(document.body)
    for (key, index), (_, new) in entries.items():
        entry = body[key][index]
        if isinstance(entry, str):
            if "\n" in entry:
                body[key][index] = new.text
            continue
        if "path" not in entry:
            entry["patch"] = new.text
        target = entry.pop("target", {})
        if new.target is not None:
            others = target.keys() - new.target.keys() - {"version", "name"}
            entry["target"] = {**new.target, **{key: target[key] for key in sorted(others)}}
    text = edited(before, body, Path(document.source.file), "")
    return FileText(document.source.file, before, text)
