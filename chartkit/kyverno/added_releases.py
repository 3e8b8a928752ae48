"""Releases that users add to those that chartkit knows: `versions:` in chartkit.yaml, and files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.kyverno.facts import schema
from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import parse_version
from chartkit.model import Body, Json, Location
from chartkit.schemas import json_schema

_DAYS = frozenset({"released", "endOfLife", "standardSupport", "extendedSupport"})

_MOST_STEPS = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document, with the location of each of its values."""

    document: Document
    path: tuple[str, ...]
    body: Json

    def locate(self, *path: str | int) -> Location:
        """Return the location of the value at a path."""
        return self.document.locate(*self.path, *path)


def read_matrix(file: Path | None, data: ReleaseData = BUILT_IN) -> ReleaseData:
    """Return what is known with a file's releases on top; raise InputError for a mistake."""
    return data if file is None else _added([*_in_file(file)], data)


def read_versions(document: Document, root: Path) -> ReleaseData:
    """Return what is known with `versions:` of a project file; root: the folder of its paths.

    Raise InputError for the first mistake.
    """
    given = document.body.get("versions")
    if given is None:
        return BUILT_IN
    if isinstance(given, dict):
        return _added([Section(document, ("versions",), given)])
    files = [given] if isinstance(given, str) else given
    return _added([section for file in files for section in _in_file(root / file)])


def _in_file(file: Path) -> Iterator[Section]:
    documents = read_file(file)
    if not documents:
        raise InputError("is empty", Location(str(file)))
    for document in documents:
        json_schema.require_single_keys(document)
        yield Section(document, (), document.body)


def _added(sections: Sequence[Section], data: ReleaseData = BUILT_IN) -> ReleaseData:
    for section in sections:
        json_schema.require(section, schema("matrix.schema.json"))
        check_rows(section, {row["version"] for row in data.section("kyverno")})
        data = data.with_added(section.body)
    return data


def check_rows(section: Section, known: Collection[str]) -> None:
    """Raise InputError for the first mistake that a schema does not see; known: versions of Kyverno
    whose keys are."""
    for index, row in enumerate(section.body.get("kyverno", ())):
        _require_row(section, index, row, row["version"] in known)
    for index, row in enumerate(section.body.get("faults", ())):
        _require_ranges(section, index, row)
        _require_field(section, row.get("policies"), "faults", index, "policies")
    for key in ("kyverno", "announced"):
        for index, row in enumerate(section.body.get(key, ())):
            for number, change in enumerate(row.get("changes", ())):
                place = (key, index, "changes", number, "objects")
                _require_field(section, change.get("objects"), *place)
    for key in ("kyverno", "eks"):
        for index, row in enumerate(section.body.get(key, ())):
            for name in _DAYS.intersection(row):
                day_of(section, row[name], key, index, name)


def _require_field(section: Section, objects: Body | None, *path: str | int) -> None:
    """Refuse a path with more `**` than are searched in a short time."""
    if (objects or {}).get("field", []).count("**") > _MOST_STEPS:
        message = f"`**` is there more than {_MOST_STEPS} times"
        raise InputError(message, section.locate(*path, "field"))


def day_of(section: Section, text: str, *path: str | int) -> date:
    """Return the day that stands at a path; raise InputError where there is no such day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text} is not a day", section.locate(*path)) from None


def _require_row(section: Section, index: int, row: Body, known: bool) -> None:
    place = ("kyverno", index)
    version = row["version"]
    if "kubernetes" not in row and not known:
        hint = 'write the oldest and the newest, such as kubernetes: ["1.33", "1.35"]'
        message = f"which Kubernetes versions Kyverno {version} supports is missing"
        raise InputError(message, section.locate(*place), hint)
    if "kubernetes" in row:
        oldest, newest = (parse_version(kubernete, "Kubernetes") for kubernete in row["kubernetes"])
        if newest < oldest:
            message = f"{oldest} is newer than {newest}"
            hint = "write the oldest first"
            raise InputError(message, section.locate(*place, "kubernetes"), hint)
    for release in row.get("releases", {}):
        if release.rpartition(".")[0] != version:
            message = f"{release} is not a release of Kyverno {version}"
            raise InputError(message, section.locate(*place, "releases", release))


def _require_ranges(section: Section, index: int, row: Body) -> None:
    for at, given in enumerate(row["affected"]):
        since, fixed = (_numbers(given.get(key, "")) for key in ("since", "fixed"))
        if since and fixed and fixed <= since:
            message = f"{given['fixed']}, the release that fixes it, is not after {given['since']}"
            raise InputError(message, section.locate("faults", index, "affected", at))


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split("."))) if release else ()
