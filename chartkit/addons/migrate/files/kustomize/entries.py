"""Patches of a kustomization: its entries, the objects that they change, and their new form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.files.kustomize.patches import (
    Merge,
    Operations,
    Patch,
    StaysError,
    operations,
)
from chartkit.addons.migrate.files.printed import comments_in
from chartkit.addons.migrate.files.references import fits
from chartkit.addons.migrate.files.texts import SEPARATOR, MigratedObject, named_in
from chartkit.documents.reader import Document, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.kubernetes.kinds import CEL_GROUP, DEFAULT_NAMESPACE
from chartkit.errors import InputError
from chartkit.model import Body, Json, Resource, list_of, mapping_at

MERGES: Final = "patchesStrategicMerge"
JSON_PATCHES: Final = "patchesJson6902"
_RENAMING: Final = ("allowNameChange", "allowKindChange")
_NOT_READ: Final = "its file is not among the PATHs"
_SEVERAL: Final = "the new policies need a patch each, for which the entry has no place"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: key: the list that it is in; file: of its patch, None for one that is written out;
    patches: in the order of its documents; target: None where each patch names its object."""

    key: str
    raw: Json
    file: Path | None
    documents: Sequence[Document]
    patches: Sequence[Patch]
    target: Body | None


def read_entry(
    key: str, raw: Json, folder: Path, documents: Mapping[Path, Sequence[Document]]
) -> Entry:
    """Return an entry of a kustomization in a folder; raise StaysError for one of which nothing is
    known."""
    if isinstance(raw, str):
        raw = {"patch" if "\n" in raw or "{" in raw else "path": raw}
    body = mapping_at(raw)
    if any(mapping_at(body, "options").get(option) for option in _RENAMING):
        raise StaysError("its options let it rename")
    path, text, file = body.get("path"), body.get("patch"), None
    if isinstance(path, str) and "\x00" not in path:
        file = named_in(folder, path)
        if file not in documents:
            raise StaysError(_NOT_READ)
        read = documents[file]
    else:
        try:
            read = read_text(str(text))
        except InputError as error:
            raise StaysError(f"it cannot be read: {error.message}") from None
    target = body.get("target")
    patches = [
        Operations(item.body) if isinstance(item.body, list) else Merge(mapping_at(item.body))
        for item in read
    ]
    if key == MERGES and any(isinstance(patch, Merge) and _has_null(patch) for patch in patches):
        raise StaysError("kustomize writes null as a text in labels and annotations there")
    is_json = any(isinstance(patch, Operations) for patch in patches)
    if (is_json or target is not None) and (len(patches) != 1 or not isinstance(target, dict)):
        raise StaysError("kustomize does not apply it")
    return Entry(key, raw, file, read, patches, target)


def _has_null(merge: Merge) -> bool:
    metadata = mapping_at(merge.body, "metadata")
    return any(None in mapping_at(metadata.get(key)).values() for key in ("labels", "annotations"))


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a new policy: the document before it, and a merge that makes it."""

    document: Body
    merge: Body

    @property
    def body(self) -> Body:
        """The merge as a patch that names its object."""
        named = mapping_at(self.document, "metadata")
        metadata = {key: named[key] for key in ("name", "namespace") if key in named}
        rest = {key: value for key, value in self.merge.items() if key != "metadata"}
        return {
            "apiVersion": self.document["apiVersion"],
            "kind": self.document["kind"],
            "metadata": {**metadata, **mapping_at(self.merge, "metadata")},
            **rest,
        }

    @property
    def operations(self) -> list[Body]:
        """The merge as a JSON Patch."""
        return list(operations(self.document, self.merge))


@dataclass(frozen=True, slots=True)
class NewEntry:
    """The new form of an entry; target: None if there is none; text: of its patch."""

    target: Body | None
    text: str


Selects = Callable[[Body], Sequence[Body]]
"""A function that returns the new documents which a target selects."""


def retargeted(entry: Entry, changes: Sequence[Change], selects: Selects) -> NewEntry:
    """Return the new form of an entry with a target; raise StaysError where it has none."""
    is_json = isinstance(entry.patches[0], Operations)
    contents = [change.operations if is_json else change.merge for change in changes]
    if all(content == contents[0] for content in contents):
        wanted = {id(change.document) for change in changes}
        for target in _targets(mapping_at(entry.target), [change.document for change in changes]):
            if {id(item) for item in selects(target)} == wanted:
                return NewEntry(target, _text(entry, [contents[0] if is_json else changes[0].body]))
    if entry.key == JSON_PATCHES:
        raise StaysError(_SEVERAL)
    return NewEntry(None, _text(entry, [change.body for change in changes]))


def _targets(old: Body, documents: Sequence[Body]) -> list[Body]:
    """Return the targets that may select documents, the widest first."""
    kinds = dict.fromkeys(str(document["kind"]) for document in documents)
    names = dict.fromkeys(str(document["metadata"]["name"]) for document in documents)
    target = {"group": CEL_GROUP, "kind": "|".join(kinds)}
    if old.get("namespace"):
        target["namespace"] = old["namespace"]
    named = {**target, "name": "|".join(name.replace(".", r"\.") for name in names)}
    return [named] if old.get("name") else [target, named]


def rewritten(entry: Entry, changes: Mapping[int, Sequence[Change]]) -> NewEntry:
    """Return the new form of an entry whose patches name their objects; changes: by document."""
    bodies: list[Json] = []
    for index, document in enumerate(entry.documents):
        if index in changes:
            bodies += (change.body for change in changes[index])
        else:
            bodies.append(document)
    return NewEntry(None, _text(entry, bodies))


def _text(entry: Entry, contents: Sequence[Json | Document]) -> str:
    """Return the text of new patches and of documents that stay, with the comments of the others
    above the first."""
    if entry.file is not None and entry.file.suffix == ".json":
        if len(contents) != 1 or isinstance(contents[0], Document):
            raise StaysError(_SEVERAL)
        return json.dumps(contents[0], indent=2, ensure_ascii=False) + "\n"
    kept = [content for content in contents if isinstance(content, Document)]
    regions = [
        _region(document) if index else document.source.text[: document.end].replace("---\n", "", 1)
        for index, document in enumerate(entry.documents)
        if document not in kept
    ]
    comments = [comment.text for region in regions for comment in comments_in(region)]
    pieces = [_region(part) if isinstance(part, Document) else dump_yaml(part) for part in contents]
    return "".join(f"{comment}\n" for comment in comments) + SEPARATOR.join(pieces)


def _region(document: Document) -> str:
    """Return the text of a document without the line that begins it."""
    text = document.source.text[document.start : document.end]
    lines = text.strip("\n").splitlines()
    if lines and lines[0].startswith("---"):
        lines = lines[1:]
    return "\n".join(lines) + "\n"


MOST_OBJECTS: Final = 10_000
"""The most objects of a build: kustomizations that are taken twice multiply them."""
_BY_LABELS: Final = ("labelSelector", "annotationSelector")


@dataclass(slots=True)
class BuiltObject:
    """An object of a build.

    body: as patched, under the name that its file has; migrated: None for one that is not a legacy
    policy; documents: what its body converts to, None where that is not known; prefix, suffix,
    namespace: what builds gave it.
    """

    body: Body
    migrated: MigratedObject | None = None
    documents: Sequence[Body] | None = None
    prefix: str = ""
    suffix: str = ""
    namespace: str | None = None

    @property
    def name(self) -> str:
        """Its kind and name."""
        return f"{self.body.get('kind')}/{mapping_at(self.body.get('metadata')).get('name')}"

    def copy(self) -> BuiltObject:
        """Return an object that another build may change."""
        return replace(self)

    def is_selected(self, target: Mapping[str, Json], body: Body | None = None) -> bool:
        """Report whether a patch's target selects it, or a document in its place; raise StaysError
        for a target by labels."""
        body = self.body if body is None else body
        if any(target.get(key) for key in _BY_LABELS):
            raise StaysError("its target selects by labels or annotations")
        group, _, version = str(body.get("apiVersion")).rpartition("/")
        return (
            fits(target.get("group"), group)
            and fits(target.get("version"), version)
            and fits(target.get("kind"), str(body.get("kind")))
            and any(fits(target.get("name"), name) for name in self._names(body))
            and any(fits(target.get("namespace"), name) for name in self._namespaces(body))
        )

    def is_named(self, merge: Merge) -> bool:
        """Report whether a strategic merge without a target is for it."""
        metadata = mapping_at(merge.body, "metadata")
        return (
            all(merge.body.get(key) == self.body.get(key) for key in ("apiVersion", "kind"))
            and metadata.get("name") in self._names(self.body)
            and (metadata.get("namespace") or DEFAULT_NAMESPACE) in self._namespaces(self.body)
        )

    def _names(self, body: Body) -> tuple[str, str]:
        name = str(mapping_at(body, "metadata").get("name"))
        return name, f"{self.prefix}{name}{self.suffix}"

    def _namespaces(self, body: Body) -> tuple[str, str]:
        own = mapping_at(body, "metadata").get("namespace") or DEFAULT_NAMESPACE
        return str(own), str(own if self.namespace is None else self.namespace)


@dataclass(slots=True)
class Build:
    """The objects that a kustomization builds.

    is_open: whether it has objects that are not known here; reason: why what it makes of its
    policies is not known, empty where it is.
    """

    objects: list[BuiltObject] = field(default_factory=list)
    is_open: bool = False
    reason: str = ""

    def add(self, other: Build) -> None:
        """Take what another kustomization builds, which may be taken elsewhere as well."""
        self.is_open |= other.is_open
        self.reason = self.reason or other.reason
        if len(self.objects) + len(other.objects) > MOST_OBJECTS:
            self.is_open = True
            self.reason = f"its kustomization builds more than {MOST_OBJECTS:,} objects"
            return
        self.objects += (built_object.copy() for built_object in other.objects)

    def forget_repeated(self) -> None:
        """Forget the new forms of a policy that appears twice: the name of its file covers both."""
        seen: dict[int, BuiltObject] = {}
        for item in self.objects:
            if item.migrated is None:
                continue
            first = seen.setdefault(id(item.migrated), item)
            if first is not item:
                first.documents = item.documents = None

    def selected(self, target: Body) -> list[BuiltObject]:
        """Return the objects that a target selects; raise StaysError where not all are known."""
        built_objects = [item for item in self.objects if item.is_selected(target)]
        if self.is_open and any(resource.migrated is not None for resource in built_objects):
            raise StaysError("its kustomization has resources that are not among the PATHs")
        return built_objects

    def transform(self, kustomization: Body) -> None:
        """Give the objects the names, namespace, labels and annotations of a kustomization."""
        labels = {**mapping_at(kustomization, "commonLabels")}
        for label in list_of(kustomization.get("labels")):
            labels |= mapping_at(mapping_at(label).get("pairs"))
        given = {
            "labels": labels,
            "annotations": mapping_at(kustomization, "commonAnnotations"),
        }
        added: Body = {"metadata": {key: value for key, value in given.items() if value}}
        for item in self.objects:
            item.prefix = f"{kustomization.get('namePrefix') or ''}{item.prefix}"
            item.suffix = f"{item.suffix}{kustomization.get('nameSuffix') or ''}"
            item.namespace = kustomization.get("namespace") or item.namespace
            if added["metadata"] and item.migrated is not None:
                item.body = Merge(added).apply(item.body)
                if item.documents is not None:
                    item.documents = [Merge(added).apply(document) for document in item.documents]


def built(
    resources: Iterable[Resource], migrated: Mapping[int, MigratedObject]
) -> Iterator[BuiltObject]:
    """Yield the objects of a file; migrated: legacy policies by the identity of their bodies."""
    for resource in resources:
        policy = migrated.get(id(resource.body))
        is_whole = policy is not None and bool(policy.documents) and policy.is_whole
        documents = policy.documents if policy is not None and is_whole else None
        yield BuiltObject(resource.body, policy, documents)
