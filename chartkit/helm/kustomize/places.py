"""The places of built objects and their fields in the files of bases and overlays.

kustomize annotates each object with its origin; a field that a patch sets is found in the patch.
Source: kustomize, api/resource/origin.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from chartkit.documents.reader import Document, parse_yaml, read_source, read_text, resources
from chartkit.errors import InputError
from chartkit.helm.kustomize.kustomization import Kustomization
from chartkit.helm.kustomize.tree import Tree
from chartkit.model import (
    Body,
    Json,
    Location,
    Resource,
    item_number,
    list_of,
    mapping_at,
    pointer_of,
    pointer_steps,
    same,
    text_of,
)

_ORIGIN: Final = "config.kubernetes.io/origin"
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_GENERATORS: Final = ("configMapGenerator", "secretGenerator")


@dataclass(frozen=True, slots=True)
class _Text:
    """A text inside a field of a document."""

    document: Document
    path: tuple[str | int, ...]
    text: str

    def place(self, inside: Location) -> Location:
        """Return a place in the text as one in the file."""
        lines = self.text.split("\n")[: inside.line - 1]
        offset = sum(len(line) + 1 for line in lines) + max(inside.column - 1, 0)
        return self.document.character(offset, *self.path)


@dataclass(frozen=True, slots=True)
class _Patch:
    """A patch of a kustomization: part of an object, or operations (JSON 6902). around: the field
    that holds it, None for a file."""

    target: Body
    document: Document
    around: _Text | None

    def is_for(self, kind: str, names: Sequence[str]) -> bool:
        """Return whether it may be for an object; names: its name in the base and as built."""
        body = self.document.body
        if self.target or not isinstance(body, dict):
            fits = (_fits(self.target.get("name"), each) for each in names)
            return _fits(self.target.get("kind"), kind) and any(fits)
        name = text_of(mapping_at(body, "metadata").get("name"))
        return body.get("kind") == kind and any(name in each for each in names)

    def place(self, built: Json, steps: Sequence[str], value: Json) -> Location | None:
        """Return the place where it sets a field of an object to a value."""
        found = self._path(built, steps, value)
        if found is None:
            return None
        place = self.document.locate(*found)
        return place if self.around is None else self.around.place(place)

    def _path(self, built: Json, steps: Sequence[str], value: Json) -> Sequence[str | int] | None:
        body = self.document.body
        if isinstance(body, dict):
            path = followed(built, body, steps)
            return path if len(path) == len(steps) and _sets(body, path, value) else None
        for index, operation in enumerate(list_of(body)):
            operation = mapping_at(operation)
            above = pointer_steps(text_of(operation.get("path")))
            if above and operation.get("op") in ("add", "replace") and _leads(above, steps):
                rest = steps[len(above) :]
                if _sets(operation.get("value"), rest, value):
                    return (index, "value", *rest)
        return None


def _fits(pattern: Json, text: str) -> bool:
    if not pattern:
        return True
    try:
        return re.fullmatch(str(pattern), text) is not None if len(str(pattern)) < 100 else False
    except re.error:
        return False


def _leads(above: Sequence[str], steps: Sequence[str]) -> bool:
    return len(above) <= len(steps) and all(
        left in ("-", right) for left, right in zip(above, steps, strict=False)
    )


def _sets(body: Json, steps: Sequence[str | int], value: Json) -> bool:
    for step in steps:
        body = _member(body, str(step))
    is_scalar = not isinstance(value, (dict, list))
    return body is not None and (same(body, value) if is_scalar else type(body) is type(value))


def _member(body: Json, step: str) -> Json:
    if isinstance(body, list):
        index = item_number(step)
        return body[index] if index is not None and index < len(body) else None
    return body.get(step) if isinstance(body, dict) else None


def followed(built: Json, other: Json, steps: Sequence[str]) -> list[str]:
    """Return the steps of a field of a built object in another document, as far as they go there:
    items of lists are those of the same name or value."""
    found: list[str] = []
    for step in steps:
        built = _member(built, step)
        if isinstance(other, list):
            index = _index(built, other)
            if index is None:
                break
            step = str(index)
        elif not isinstance(other, dict) or step not in other:
            break
        other = _member(other, step)
        found.append(step)
    return found


def _index(item: Json, others: Sequence[Json]) -> int | None:
    name = item.get("name") if isinstance(item, dict) else None
    for index, other in enumerate(others):
        named = name is not None and isinstance(other, dict) and other.get("name") == name
        if named or same(item, other):
            return index
    return None


@dataclass(frozen=True, slots=True)
class BuiltPlaces:
    """The places of the fields of a built object. base: the object in its file, None for one that
    is generated; begin: its place."""

    body: Body
    base: Resource | None
    begin: Location
    patches: Sequence[_Patch]

    def locate(self, *path: str | int) -> Location:
        """Return the place in the patch that sets the field at a path, else in the base, or that of
        the nearest parent."""
        steps: list[str] = []
        values: list[Json] = [self.body]
        for step in map(str, path):
            value = _member(values[-1], step)
            if value is None:
                break
            steps.append(step)
            values.append(value)
        found = [] if self.base is None else followed(self.body, self.base.body, steps)
        for upto in range(len(steps), len(found), -1):
            if place := self._patched(steps[:upto], values[upto]):
                return place
        if self.base is None:
            return self.begin
        # The base has the field, and an overlay may have given its value.
        is_value = len(found) == len(steps) > 0 and not isinstance(values[-1], (dict, list))
        place = self._patched(steps, values[-1]) if is_value else None
        return place or self.base.location.within(pointer_of(*found))

    def _patched(self, steps: Sequence[str], value: Json) -> Location | None:
        places = (each.place(self.body, steps, value) for each in self.patches)
        return next((each for each in places if each is not None), None)

    def character(self, _offset: int, *path: str | int) -> Location:
        """Return the place of the field at a path."""
        return self.locate(*path)

    def value_of(self, *_path: str | int) -> None:
        """Return None: no chart's value is shown here."""

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines around one of the file that the object begins in."""
        places = None if self.base is None else self.base.location.places
        return (0, ()) if places is None else places.excerpt(line)


@dataclass
class Origins:
    """The origins of the objects of a build; closure: its kustomization and those below."""

    tree: Tree
    closure: Sequence[Kustomization]

    def objects(self, text: str) -> list[Resource]:
        """Return the objects of a build's output, in the files that they come from; raise
        InputError for an output that is none."""
        documents = read_text(text, f"kustomize build {self._name(self.closure[0].folder)}")
        return [self._object(each.body) for each in resources(documents)]

    def _object(self, body: Body) -> Resource:
        origin, body = _without_origin(body)
        base, begin = self._origin(origin, body)
        name = text_of(mapping_at(body, "metadata").get("name"))
        kind = text_of(body.get("kind"))
        names = [name, *([base.name] if base else [])]
        patches = [each for each in self._patches if each.is_for(kind, names)]
        if base is None and not patches:
            return Resource(body, begin)
        return Resource(
            body, replace(begin, path="", places=BuiltPlaces(body, base, begin, patches))
        )

    def _origin(self, origin: Body, body: Body) -> tuple[Resource | None, Location]:
        """Return an object as its file has it, and its place."""
        path, generated = text_of(origin.get("path")), text_of(origin.get("configuredIn"))
        file = os.path.normpath(os.path.join(self.closure[0].folder, path or generated))
        if path:
            base = _original(self._files(file), body)
            if base is not None:
                return base, base.location
        for each in self.closure:
            if generated and file == os.path.join(each.folder, each.name):
                return None, _generator(each, body)
        own = self.closure[0]
        file = file if path or generated else os.path.join(own.folder, own.name)
        return None, Location(self._name(file), 1)

    def _name(self, path: str) -> str:
        return self.tree.repository.name(path)

    def _files(self, file: str) -> Sequence[Resource]:
        if file not in self.tree.read:
            found: list[Resource] = []
            real = os.path.realpath(file)
            if any(each.real == real for one in self.closure for each in one.files):
                try:
                    found = resources(read_text(read_source(real), self._name(file)))
                except InputError:
                    found = []
            self.tree.read[file] = found
        return self.tree.read[file]

    @cached_property
    def _patches(self) -> list[_Patch]:
        """The patches of the build, the last ones that are applied first."""
        return [patch for each in self.closure for patch in reversed([*self._patches_of(each)])]

    def _patches_of(self, kustomization: Kustomization) -> Iterator[_Patch]:
        document, files = kustomization.document, {each.path for each in kustomization.files}
        for key in _PATCHES:
            for index, entry in enumerate(list_of(kustomization.body.get(key))):
                target = mapping_at(entry, "target")
                path: tuple[str | int, ...] = (key, index)
                text = text_of(entry)
                file = text
                if isinstance(entry, dict):
                    text, file = text_of(entry.get("patch")), text_of(entry.get("path"))
                    path = (key, index, "patch")
                at = os.path.normpath(os.path.join(kustomization.folder, file))
                is_file = bool(file) and at in files
                around = None if is_file else _Text(document, path, text)
                try:
                    found = read_text(read_source(at) if is_file else text, self._name(at))
                except InputError:
                    continue
                yield from (_Patch(target, each, around) for each in found)


def _without_origin(body: Body) -> tuple[Body, Body]:
    """Return the origin of an object, and the object without it."""
    metadata = mapping_at(body, "metadata")
    annotations: dict[str, Any] = {**mapping_at(metadata, "annotations")}
    try:
        origin = parse_yaml(text_of(annotations.pop(_ORIGIN, "")))
    except InputError:
        origin = None
    metadata = {key: value for key, value in metadata.items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return mapping_at(origin), {**body, "metadata": metadata}


def _original(candidates: Sequence[Resource], body: Body) -> Resource | None:
    """Return the object of a file that a built one comes from: of its kind and, before prefixes and
    suffixes, its name."""
    name = text_of(mapping_at(body, "metadata").get("name"))
    same_kind = [each for each in candidates if each.kind == body.get("kind")] or candidates
    named = [each for each in same_kind if each.name and each.name in name]
    if not named:
        return same_kind[0] if len(same_kind) == 1 else None
    return max(named, key=lambda each: len(each.name))


def _generator(kustomization: Kustomization, body: Body) -> Location:
    """Return the place of the generator that an object comes from."""
    name = text_of(mapping_at(body, "metadata").get("name"))
    document = kustomization.document
    for key in _GENERATORS:
        for index, entry in enumerate(list_of(kustomization.body.get(key))):
            own = text_of(mapping_at(entry).get("name"))
            if own and own in name:
                return document.locate(key, index)
    return document.location
