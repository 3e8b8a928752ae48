"""Edits of objects that kustomize builds, as patches in the kustomization that is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chartkit.addons.satisfy.changes import DELETE
from chartkit.addons.satisfy.fix.files import SourceFiles, documents_of, with_documents
from chartkit.addons.satisfy.fix.model import (
    Batch,
    FileText,
    Reason,
    Steps,
    Subject,
    edited,
    most_of,
)
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.errors import InputError
from chartkit.helm.kustomize.build import build
from chartkit.helm.kustomize.kustomization import Kustomization
from chartkit.helm.kustomize.places import BuiltPlaces
from chartkit.model import Body, Json, Resource, item_number, pointed_at, pointer_of, same
from chartkit.report.model import resource_id

_UNFIT = "a patch in the kustomization does not change it as wanted, or changes other objects"


def kustomization_batches(
    objects: Sequence[Resource], subjects: Sequence[Subject], files: SourceFiles
) -> Iterator[Batch]:
    """Yield the edits of each kustomization; objects: all of the scan; subjects: those that are
    built. Edits that cannot be made are left out, and open."""
    builds: dict[tuple[int, str], _Build] = {}
    for number, resource in enumerate(objects):
        places = resource.location.places
        if isinstance(places, BuiltPlaces):
            key = id(places.tree), places.closure[0].folder
            builds.setdefault(key, _Build(places, objects, files)).numbers.append(number)
    for built in builds.values():
        yield built.batch([subject for subject in subjects if subject.number in built.numbers])


@dataclass(slots=True)
class _Build:
    """One build. places: of an object of it; numbers: of its objects in the scan; _fitting: the
    subjects whose edits were tried last, if they fit."""

    places: BuiltPlaces
    objects: Sequence[Resource]
    files: SourceFiles
    numbers: list[int] = field(default_factory=list)
    _why: str = ""
    _file: FileText | None = None
    _made: dict[int, Resource] = field(default_factory=dict)
    _fitting: Sequence[Subject] = ()

    @property
    def _kustomization(self) -> Kustomization:
        return self.places.closure[0]

    def batch(self, subjects: Sequence[Subject]) -> Batch:
        """Return the edits of the kustomization's file."""
        with_edits = [subject for subject in subjects if subject.edits]
        kept = most_of(with_edits, self._works)
        for subject in with_edits:
            if subject not in kept:
                subject.give_up(Reason(self._why, self._kustomization.document.location))
        fits = bool(kept) and (kept == self._fitting or self._works(kept))
        if not fits or self._file is None:
            return Batch(subjects, (), {})
        return Batch(subjects, [self._file], self._made)

    def _works(self, subjects: Sequence[Subject]) -> bool:
        """Report whether patches change the objects as wanted, and no other object."""
        document = self._kustomization.document
        patches = document.body.get("patches") or []
        if not isinstance(patches, list):
            return False
        body = {**document.body, "patches": [*patches, *map(_patch, subjects)]}
        name = document.source.file
        try:
            path, text = self.files.text(document.source)
            after = with_documents(text, name, {0: body})
            [new] = documents_of(after, name)
        except InputError as error:
            self._why = f"the file {error.message}"
            return False
        self._why, self._fitting = _UNFIT, ()
        objects, _ = build(self.places.tree.rewritten(self._kustomization, new))
        old = [self.objects[number] for number in self.numbers]
        if list(map(resource_id, objects)) != list(map(resource_id, old)):
            return False
        wanted = {subject.number: edited(subject.given, subject.edits).body for subject in subjects}
        self._made = {}
        for number, built in zip(self.numbers, objects, strict=True):
            if not same(built.body, wanted.get(number, self.objects[number].body)):
                return False
            if number in wanted:
                self._made[number] = built
        self._file = FileText(name, path, text, after)
        self._fitting = list(subjects)
        return True


def _patch(subject: Subject) -> Body:
    """Return the entry of a kustomization that makes the edits of an object: operations of JSON
    6902, with a test of the name of each item that one of them goes through."""
    places = subject.given.location.places
    assert isinstance(places, BuiltPlaces)
    base = places.base or subject.given
    kind = kind_of(subject.given)
    target = {
        "group": kind.group,
        "version": kind.version,
        "kind": kind.kind,
        "name": base.name,
        "namespace": base.namespace,
    }
    given = subject.given
    tests = (test for edit in subject.edits for test in _tests(given.body, edit.steps))
    operations = [*{test["path"]: test for test in tests}.values()]
    for edit in subject.edits:
        operations.append(_operation(given.body, edit.steps, edit.value))
        given = edited(given, [edit])
    text = dump_yaml(operations)
    return {"target": {key: value for key, value in target.items() if value}, "patch": text}


def _tests(body: Json, steps: Steps) -> Iterator[Body]:
    """Yield tests that the items on a path are still those with these names."""
    for depth, step in enumerate(steps):
        item = pointed_at(body, steps[: depth + 1])
        name = item.get("name") if isinstance(item, dict) else None
        if item_number(step) is not None and isinstance(name, str):
            path = pointer_of(*steps[: depth + 1], "name")
            yield {"op": "test", "path": path, "value": name}


def _operation(body: Json, steps: Steps, value: Json) -> Body:
    """Return the operation that sets or removes a field; missing parents come with the value."""
    if value is DELETE:
        return {"op": "remove", "path": pointer_of(*steps)}
    depth = 1
    while depth < len(steps) and pointed_at(body, steps[:depth]) is not None:
        depth += 1
    for step in reversed(steps[depth:]):
        value = [value] if step in ("0", "-") else {step: value}
    is_there = pointed_at(body, steps[:depth]) is not None
    return {
        "op": "replace" if is_there else "add",
        "path": pointer_of(*steps[:depth]),
        "value": value,
    }
