"""The places of built objects and their fields in the files of bases and overlays.

kustomize annotates each object with its origin; a field that a patch sets is found in the patch.
Source: kustomize, api/resource/origin.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from chartkit.documents.reader import Document, parse_yaml, read_source, read_text, resources
from chartkit.errors import InputError
from chartkit.helm.kustomize.kustomization import OBJECTS, Kustomization, Tree
from chartkit.model import (
    Body,
    Json,
    Location,
    Places,
    Resource,
    list_of,
    mapping_at,
    mappings_at,
    pointed_at,
    pointer_of,
    pointer_steps,
    same,
    text_of,
)

_TAG: Final = re.compile(r"(:[^/:@]*)?(@.*)?$")
_LITERAL: Final = re.compile(r"[\w-]+")
_SEPARATOR: Final = re.compile(r"(?<=\n)---\n")
_ORIGIN: Final = "config.kubernetes.io/origin"
PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_GENERATORS: Final = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}


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
        """Report whether it may be for an object; names: as built, and in the base."""
        body, target = self.document.body, self.target
        if not target and isinstance(body, dict):
            name = text_of(mapping_at(body, "metadata").get("name"))
            return body.get("kind") == kind and any(name in other for other in names)
        # A regular expression of a stranger's is not tried: kustomize has done so.
        given = (text_of(target.get("name")) or names[0], text_of(target.get("kind")) or kind)
        return all(
            text in those or not _LITERAL.fullmatch(text)
            for text, those in zip(given, (names, [kind]), strict=True)
        )

    def place(self, built: Json, steps: Sequence[str], value: Json) -> Location | None:
        """Return the place where it sets a field of an object to a value."""
        body = self.document.body
        path: Sequence[str | int] | None = None
        if isinstance(body, dict):
            own = followed(built, body, steps)
            path = own if len(own) == len(steps) and _sets(body, own, value) else None
        for index, operation in enumerate(map(mapping_at, list_of(body))):
            above = pointer_steps(text_of(operation.get("path")))
            rest = steps[len(above) :]
            leads = all(left in ("-", right) for left, right in zip(above, steps, strict=False))
            if above and leads and _sets(operation.get("value"), rest, value):
                path = (index, "value", *rest)
                break
        if path is None:
            return None
        location = self.document.locate(*path)
        return location if self.around is None else self.around.place(location)


def _sets(body: Json, steps: Sequence[str], value: Json) -> bool:
    there = pointed_at(body, steps)
    is_scalar = not isinstance(value, (dict, list))
    return there is not None and (same(there, value) if is_scalar else type(there) is type(value))


def followed(built: Json, other: Json, steps: Sequence[str]) -> list[str]:
    """Return the steps of a field of a built object that exist in another document; items of lists
    are the same if they have the same name or value."""
    path: list[str] = []
    for step in steps:
        built = pointed_at(built, [step])
        if isinstance(other, list):
            name = built.get("name") if isinstance(built, dict) else None
            for index, item in enumerate(other):
                is_named = name is not None and isinstance(item, dict) and item.get("name") == name
                if is_named or same(built, item):
                    step = str(index)
                    break
            else:
                break
        elif not isinstance(other, dict) or step not in other:
            break
        other = pointed_at(other, [step])
        path.append(step)
    return path


@dataclass(frozen=True, slots=True)
class BuiltPlaces(Places):
    """The places of the fields of a built object. base: the object in its file, None for one that
    is generated; begin: its place; closure: the kustomizations of the build; tree: with them."""

    body: Body
    base: Resource | None
    begin: Location
    patches: Sequence[_Patch]
    closure: Sequence[Kustomization]
    tree: Tree

    def locate(self, *path: str | int) -> Location:
        """Return the location in the patch that sets the field at a path, else in the base, else
        the location of the nearest parent."""
        steps: list[str] = []
        values: list[Json] = [self.body]
        for step in map(str, path):
            value = pointed_at(values[-1], [step])
            if value is None:
                break
            steps.append(step)
            values.append(value)
        shared = [] if self.base is None else followed(self.body, self.base.body, steps)
        for upto in range(len(steps), len(shared), -1):
            if location := self._patched(steps[:upto], values[upto]):
                return location
        if self.base is None:
            return self.begin
        # The base has the field, and an overlay may have given its value.
        is_value = len(shared) == len(steps) > 0 and not isinstance(values[-1], (dict, list))
        location = self._patched(steps, values[-1]) if is_value else None
        before = pointed_at(self.base.body, shared)
        if is_value and location is None and before != values[-1]:
            location = self._transformed(steps[-1], self.base.name, text_of(before))
        return location or self.base.location.within(pointer_of(*shared))

    def _transformed(self, field: str, name: str, before: str) -> Location | None:
        """Return the entry of a kustomization that gives a field its value."""
        key = {"image": "images", "replicas": "replicas", "namespace": "namespace"}.get(field, "")
        for kustomization in self.closure:
            value = kustomization.body.get(key)
            if value and not isinstance(value, list):
                return kustomization.document.locate(key)
            for index, entry in enumerate(list_of(value)):
                # An image is named without its tag and digest.
                if mapping_at(entry).get("name") in (name, _TAG.sub("", before)):
                    return kustomization.document.locate(key, index)
        return None

    def _patched(self, steps: Sequence[str], value: Json) -> Location | None:
        places = (patch.place(self.body, steps, value) for patch in self.patches)
        return next((location for location in places if location is not None), None)

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
        InputError for an invalid output."""
        name = f"kustomize build {self._name(self.closure[0].folder)}"
        parts = _SEPARATOR.split(text)
        for part in parts:
            # Overlays repeat what their bases have, such as large definitions.
            if part not in self.tree.read:
                above = text.count("\n", 0, text.index(part))
                self.tree.read[part] = resources(read_text(part, name, above))
        return [self._object(document.body) for part in parts for document in self.tree.read[part]]

    def _object(self, body: Body) -> Resource:
        metadata = mapping_at(body, "metadata")
        annotations = {**mapping_at(metadata, "annotations")}
        origin = mapping_at(parse_yaml(text_of(annotations.pop(_ORIGIN, ""))))
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        metadata |= {"annotations": annotations} if annotations else {}
        body = {**body, "metadata": metadata}
        base, begin = self._origin(origin, body)
        name = text_of(metadata.get("name"))
        kind = text_of(body.get("kind"))
        names = [name, *([base.name] if base else [])]
        patches = [patch for patch in self._patches if patch.is_for(kind, names)]
        places = BuiltPlaces(body, base, begin, patches, self.closure, self.tree)
        overlay = self._name(self.closure[0].folder)
        return Resource(body, replace(begin, path="", places=places, overlay=overlay))

    def _origin(self, origin: Body, body: Body) -> tuple[Resource | None, Location]:
        """Return an object as its file has it, and its place."""
        own = self.closure[0]
        metadata, kind = mapping_at(body, "metadata"), text_of(body.get("kind"))
        name, namespace = text_of(metadata.get("name")), text_of(metadata.get("namespace"))
        path = text_of(origin.get("path")) or text_of(origin.get("configuredIn"))
        if not path:
            # Without an annotation: the file that has the longest part of its name, for its kind.
            matches = [
                (len(part), namespace == part_namespace, file)
                for part, part_namespace, file in self._sources.get(kind, ())
                if part in name
            ]
            path = max(matches)[2] if matches else own.name
        file = os.path.normpath(os.path.join(own.folder, path))
        # The object of a file that a built one comes from: of its kind and, before prefixes and
        # suffixes, its name.
        candidates = self._resources(file)
        same_kind = [item for item in candidates if item.kind == body.get("kind")] or candidates
        named = [resource for resource in same_kind if resource.name and resource.name in name]
        if named or len(same_kind) == 1:
            base = max(named or same_kind, key=lambda resource: len(resource.name))
            return base, base.location
        for kustomization in self.closure:
            if file == os.path.join(kustomization.folder, kustomization.name):
                return None, _generator(kustomization, body)
        return None, Location(self._name(file), 1)

    @cached_property
    def _sources(self) -> Mapping[str, Sequence[tuple[str, str, str]]]:
        """The names, namespaces and files of objects and generators, by kind."""
        sources: dict[str, list[tuple[str, str, str]]] = {}
        for kustomization in self.closure:
            for reference in kustomization.files:
                here = self._resources(reference.path) if reference.field in OBJECTS else ()
                for resource in here:
                    if resource.name:
                        source = (resource.name, resource.namespace, reference.path)
                        sources.setdefault(resource.kind, []).append(source)
            for kind, generator in _GENERATORS.items():
                for entry in mappings_at(kustomization.body, generator):
                    if own := text_of(entry.get("name")):
                        source = (own, "", os.path.join(kustomization.folder, kustomization.name))
                        sources.setdefault(kind, []).append(source)
        return sources

    def _resources(self, file: str) -> Sequence[Resource]:
        """Return the objects of a file of the build; none for any other file."""
        if file not in self.tree.read:
            self.tree.read[file] = ()
            if any(reference.path == file for member in self.closure for reference in member.files):
                with suppress(InputError):
                    self.tree.read[file] = resources(read_text(read_source(file), self._name(file)))
        return self.tree.read[file]

    def _name(self, path: str) -> str:
        return self.tree.repository.name(path)

    @cached_property
    def _patches(self) -> list[_Patch]:
        """The patches of the build, the last ones that are applied first."""
        return [patch for member in self.closure for patch in reversed([*self._patches_of(member)])]

    def _patches_of(self, kustomization: Kustomization) -> Iterator[_Patch]:
        document, files = kustomization.document, {file.path for file in kustomization.files}
        for key in PATCHES:
            for index, entry in enumerate(list_of(kustomization.body.get(key))):
                text, file = text_of(entry), text_of(entry)
                path: tuple[str | int, ...] = (key, index)
                if isinstance(entry, dict):
                    text, file = text_of(entry.get("patch")), text_of(entry.get("path"))
                    path = (key, index, "patch")
                at = os.path.normpath(os.path.join(kustomization.folder, file))
                around = None if file and at in files else _Text(document, path, text)
                with suppress(InputError):
                    if around is None:
                        text = read_source(at)
                    for patch in read_text(text, self._name(at)):
                        yield _Patch(mapping_at(entry, "target"), patch, around)


def _generator(kustomization: Kustomization, body: Body) -> Location:
    """Return the place of the generator that an object comes from."""
    name = text_of(mapping_at(body, "metadata").get("name"))
    document = kustomization.document
    for key in _GENERATORS.values():
        for index, entry in enumerate(list_of(kustomization.body.get(key))):
            own = text_of(mapping_at(entry).get("name"))
            if own and own in name:
                return document.locate(key, index)
    return document.location
