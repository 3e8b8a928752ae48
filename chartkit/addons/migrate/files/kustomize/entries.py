"""Entries of a kustomization's patches: what they read, and their new form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.files.comments import comments_in
from chartkit.addons.migrate.files.kustomize.patches import (
    Merge,
    Operations,
    Patch,
    StaysError,
    operations,
)
from chartkit.addons.migrate.files.texts import SEPARATOR
from chartkit.documents.reader import Document, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.kubernetes.kinds import CEL_GROUP
from chartkit.errors import InputError
from chartkit.model import Body, Json, mapping_at

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
    if any(mapping_at(body, "options").get(each) for each in _RENAMING):
        raise StaysError("its options let it rename")
    path, text, file = body.get("path"), body.get("patch"), None
    if isinstance(path, str) and "\x00" not in path:
        file = (folder / path).resolve()
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
        Operations(each.body) if isinstance(each.body, list) else Merge(mapping_at(each.body))
        for each in read
    ]
    if key == MERGES and any(isinstance(one, Merge) and _has_null(one) for one in patches):
        raise StaysError("kustomize writes null as a text in labels and annotations there")
    is_json = any(isinstance(each, Operations) for each in patches)
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
        rest = {key: each for key, each in self.merge.items() if key != "metadata"}
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
    """The new form of an entry; target: None for none; text: of its patch."""

    target: Body | None
    text: str


Selects = Callable[[Body], Sequence[Body]]
"""A function that returns the new documents which a target selects."""


def retargeted(entry: Entry, changes: Sequence[Change], selects: Selects) -> NewEntry:
    """Return the new form of an entry with a target; raise StaysError where it has none."""
    is_json = isinstance(entry.patches[0], Operations)
    contents = [each.operations if is_json else each.merge for each in changes]
    if all(each == contents[0] for each in contents):
        wanted = {id(each.document) for each in changes}
        for target in _targets(mapping_at(entry.target), [each.document for each in changes]):
            if {id(each) for each in selects(target)} == wanted:
                return NewEntry(target, _text(entry, [contents[0] if is_json else changes[0].body]))
    if entry.key == JSON_PATCHES:
        raise StaysError(_SEVERAL)
    return NewEntry(None, _text(entry, [each.body for each in changes]))


def _targets(old: Body, documents: Sequence[Body]) -> list[Body]:
    """Return the targets that may select documents, the widest first."""
    kinds = dict.fromkeys(str(each["kind"]) for each in documents)
    names = dict.fromkeys(str(each["metadata"]["name"]) for each in documents)
    target = {"group": CEL_GROUP, "kind": "|".join(kinds)}
    if old.get("namespace"):
        target["namespace"] = old["namespace"]
    named = {**target, "name": "|".join(each.replace(".", r"\.") for each in names)}
    return [named] if old.get("name") else [target, named]


def rewritten(entry: Entry, changes: Mapping[int, Sequence[Change]]) -> NewEntry:
    """Return the new form of an entry whose patches name their objects; changes: by document."""
    bodies: list[Json] = []
    for index, document in enumerate(entry.documents):
        if index in changes:
            bodies += (each.body for each in changes[index])
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
    kept = [each for each in contents if isinstance(each, Document)]
    regions = [
        _region(each) if index else _with_lead(each)
        for index, each in enumerate(entry.documents)
        if each not in kept
    ]
    comments = [comment.text for each in regions for comment in comments_in(each)]
    pieces = [_region(each) if isinstance(each, Document) else dump_yaml(each) for each in contents]
    return "".join(f"{each}\n" for each in comments) + SEPARATOR.join(pieces)


def _with_lead(first: Document) -> str:
    """Return the text of a first document with the comments before it."""
    return first.source.text[: first.end].replace("---\n", "", 1)


def _region(document: Document) -> str:
    """Return the text of a document without the line that begins it."""
    text = document.source.text[document.start : document.end]
    lines = text.strip("\n").splitlines()
    if lines and lines[0].startswith("---"):
        lines = lines[1:]
    return "\n".join(lines) + "\n"
