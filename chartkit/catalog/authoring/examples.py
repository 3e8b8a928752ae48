"""An object that a policy acts on, and one that it leaves alone, from what stands beside it.

A policy of chartkit's format has `bad.yaml` and `good.yaml`; one as Kyverno reads it has Kyverno's
own tests, whose results name objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.catalog.model import Entry, Kind
from chartkit.documents.reader import read_file, resources
from chartkit.errors import InputError
from chartkit.library.policies import BAD_FILE, GOOD_FILE
from chartkit.model import Body, Resource, texts_of

_TESTS: Final = (".kyverno-test/kyverno-test.yaml", "kyverno-test.yaml")
_JUDGING: Final = frozenset({Kind.VALIDATE, Kind.IMAGE})


@dataclass(frozen=True, slots=True)
class ShownExample:
    """acts: an object that the policy refuses, changes, generates for or deletes; leaves: one that
    it accepts or passes over; None where none is known."""

    acts: Resource | None = None
    leaves: Resource | None = None


def examples_of(entry: Entry, root: Path) -> ShownExample:
    """A policy's examples; root: its library's folder, outside of which nothing is read.

    A file that cannot be read gives none: the policy can be shown without.
    """
    folder = Path(entry.file).parent
    if entry.own:
        return ShownExample(_first(folder / BAD_FILE, root), _first(folder / GOOD_FILE, root))
    for name in _TESTS:
        if (folder / name).is_file():
            return _tested(entry, folder / name, root)
    return ShownExample()


def _first(file: Path, root: Path) -> Resource | None:
    return next(iter(_objects(file, root)), None)


def _objects(file: Path, root: Path) -> list[Resource]:
    if not (file.resolve().is_relative_to(root.resolve()) and file.is_file()):
        return []
    try:
        return resources(read_file(file))
    except InputError:
        return []


def _tested(entry: Entry, file: Path, root: Path) -> ShownExample:
    """Of tests: where a policy judges, `fail` is what it refuses; where it changes or makes
    something, `pass` is what it did."""
    acting, leaving = "pass", "skip"
    if _JUDGING.intersection(entry.kinds):
        acting, leaving = "fail", "pass"
    try:
        bodies = [document.body for document in read_file(file)]
    except InputError:
        return ShownExample()
    found: dict[str, Resource] = {}
    for body in bodies:
        if not isinstance(body, dict):
            continue
        objects = [
            one
            for name in texts_of(body.get("resources"))
            for one in _objects(file.parent / name, root)
        ]
        for result, one in _results(entry, body, objects):
            found.setdefault(result, one)
    return ShownExample(found.get(acting), found.get(leaving))


def _results(entry: Entry, test: Body, objects: list[Resource]) -> Iterator[tuple[str, Resource]]:
    """Return the results of a test with the objects that they are about."""
    results = test.get("results")
    for result in results if isinstance(results, list) else ():
        if not isinstance(result, dict):
            continue
        if str(result.get("policy")).rpartition("/")[2] != entry.name:
            continue
        for name in texts_of(result.get("resources")):
            for one in objects:
                if one.name == name.rpartition("/")[2] and one.kind == result.get("kind", one.kind):
                    yield str(result.get("result")), one
