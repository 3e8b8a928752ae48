"""Kyverno's and Kubernetes' releases: `releases.yaml`, the only place that names a version.

`docs/how-to/new-release.md` says what to do for a new one. Facts that age, such as releases and
dates of support, are kept where they are newer than chartkit's: `chartkit facts update` keeps those
of a file with the sections of `releases.yaml`, which replace its own. A project adds
to them by `versions:` in chartkit.yaml, a command by `--matrix FILE`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from chartkit import __version__
from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Json, Location
from chartkit.schemas import json_schema

SECTIONS: Final = ("kyverno", "announced", "eks", "faults", "removedApis")
"""The sections of `releases.yaml` that a file of facts has; the others belong to the program."""
FACTS_KEY: Final = "releases"
"""The key of the store of facts."""
_TODAY: Final = "CHARTKIT_TODAY"
_OLD: Final = 90
"""The days after which facts are old."""
_DATA = Path(__file__).parent / "releases.yaml"
_KEYS = {"kyverno": "version", "announced": "version", "eks": "version", "faults": "name"}
_DAYS = frozenset({"released", "endOfLife", "standardSupport", "extendedSupport"})
_MOST_STEPS = 2


class Facts(NamedTuple):
    """body: a document with all SECTIONS; source, digest: of the file, empty for chartkit's own."""

    body: Body
    source: str = ""
    digest: str = ""

    @property
    def day(self) -> date:
        """The day whose knowledge they are."""
        return date.fromisoformat(self.body["date"])

    def __str__(self) -> str:
        origin = f"{self.source}, SHA-256 {self.digest[:12]}…" if self.source else "of this version"
        return f"facts of {self.day}, {origin}"

    def age(self, today: date) -> str:
        """Return a sentence on facts that are old, or nothing."""
        days = (today - self.day).days
        return f"what is known of releases is {days} days old ({self.day})" if days > _OLD else ""

    def as_json(self) -> Body:
        """Return the date and source for programs."""
        return {"date": str(self.day), "source": self.source or f"chartkit {__version__}"}


@cache
def schema(name: str) -> Body:
    """Return a schema that refers to definitions of chartkit.yaml's, with these in it."""
    definitions = json_schema.load("project.schema.json")["$defs"]
    text = json.dumps(json_schema.load(name)).replace("project.schema.json#", "#")
    return {**json.loads(text), "$defs": definitions}


def kept() -> Facts | None:
    """Return the cached facts, None without usable ones."""
    from chartkit.cache_folder import FACTS, Store

    body = Store(FACTS).load(FACTS_KEY)
    if not isinstance(body, dict):
        return None
    if not json_schema.fits(body.get("body"), schema("facts.schema.json")):
        return None
    return Facts(body["body"], body["source"], body["digest"])


def today() -> date:
    """Return the day with which dates of support are compared: CHARTKIT_TODAY, or the system's."""
    given = os.environ.get(_TODAY)
    try:
        return date.fromisoformat(given) if given else date.today()
    except ValueError:
        hint = "write it as 2026-01-31"
        raise InputError(f"{_TODAY} is '{given}', which is not a day", hint=hint) from None


class CurrentRelease(NamedTuple):
    """The release that `chartkit render` installs.

    app_version: Kyverno's, such as `v1.19.0`, also the tag of its images; chart_version: of both
    charts; serves: the minor versions of Kyverno that the engine's chart can install.
    """

    app_version: str
    chart_version: str
    serves: tuple[Version, ...]

    @property
    def version(self) -> Version:
        """Its minor version."""
        return parse_version(self.app_version, "Kyverno")


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseData:
    """The releases that are known: those of `releases.yaml` under what users add to them.

    added: sections as the file has them. A row for a version or fault that is known changes its
    keys; another one joins the others.
    """

    added: Mapping[str, Sequence[Body]]

    def section(self, key: str) -> Any:
        """Return a top-level section of the file."""
        body = (facts().body if key in SECTIONS else _own())[key]
        if key not in _KEYS or not self.added:
            return body
        if key == "announced":
            released = {row["version"] for row in self.added.get("kyverno", ())}
            body = [row for row in body if row["version"] not in released]
        name = _KEYS[key]
        rows = {row[name]: row for row in body}
        for row in self.added.get(key, ()):
            # A row with the keys of another; releases and changes add up.
            earlier = rows.get(row[name], {})
            merged = {**earlier, **row}
            if "releases" in earlier and "releases" in row:
                merged["releases"] = {**earlier["releases"], **row["releases"]}
            if "changes" in earlier and "changes" in row:
                merged["changes"] = [*earlier["changes"], *row["changes"]]
            rows[row[name]] = merged
        return list(rows.values()) if key == "faults" else sorted(rows.values(), key=_version)


BUILT_IN = ReleaseData({})
"""The data that chartkit carries, or newer facts."""


@cache
def current() -> CurrentRelease:
    """Return the release that `chartkit render` installs."""
    body = BUILT_IN.section("current")
    serves = (parse_version(serve, "Kyverno") for serve in body["serves"])
    return CurrentRelease(body["appVersion"], body["chartVersion"], tuple(serves))


@cache
def facts() -> Facts:
    """Return the facts in use: cached ones, where they are newer than chartkit's own."""
    newer = kept()
    return newer if newer and newer.day > own_facts().day else own_facts()


def own_facts() -> Facts:
    """Return the facts that come with chartkit."""
    return Facts(_own())


def removed_apis() -> Sequence[tuple[str, str, Sequence[str]]]:
    """Return API versions that Kubernetes no longer serves: since when, the version, its kinds."""
    rows = facts().body["removedApis"]
    return [(row["kubernetes"], row["apiVersion"], row["kinds"]) for row in rows]


@cache
def _own() -> Body:
    body: Body = read_file(_DATA)[0].body
    return body


def _version(row: Body) -> Version:
    return parse_version(row["version"], "it")


class Section(NamedTuple):
    """A part of a document, with the location of each of its values."""

    document: Document
    path: tuple[str, ...]
    body: Json

    def locate(self, *path: str | int) -> Location:
        """Return the location of the value at a path."""
        return self.document.locate(*self.path, *path)


def read_matrix(file: Path | None, data: ReleaseData = BUILT_IN) -> ReleaseData:
    """Return the built-in data with a file's releases on top; raise InputError for a mistake."""
    return data if file is None else _added([*_in_file(file)], data)


def read_versions(document: Document, root: Path) -> ReleaseData:
    """Return the built-in data with `versions:` of a project file on top; root: the folder of its
    paths. Raise InputError for the first mistake."""
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
        added, body = data.added, section.body
        data = ReleaseData({key: [*added.get(key, ()), *body.get(key, ())] for key in _KEYS})
    return data


def check_rows(section: Section, versions: Collection[str]) -> None:
    """Raise InputError for the first mistake that a schema does not see; versions: of Kyverno
    whose keys are known."""
    for index, row in enumerate(section.body.get("kyverno", ())):
        _require_row(section, index, row, row["version"] in versions)
    for index, row in enumerate(section.body.get("faults", ())):
        for at, given in enumerate(row["affected"]):
            since, fixed = (_numbers(given.get(key, "")) for key in ("since", "fixed"))
            if since and fixed and fixed <= since:
                message = (
                    f"{given['fixed']}, the release that fixes it, is not after {given['since']}"
                )
                raise InputError(message, section.locate("faults", index, "affected", at))
        _require_field(section, row.get("policies"), "faults", index, "policies")
    for key in ("kyverno", "announced"):
        for index, row in enumerate(section.body.get(key, ())):
            for number, change in enumerate(row.get("changes", ())):
                path = (key, index, "changes", number, "objects")
                _require_field(section, change.get("objects"), *path)
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
    """Return the date at a path; raise InputError for an impossible one."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text} is not a day", section.locate(*path)) from None


def _require_row(section: Section, index: int, row: Body, is_known: bool) -> None:
    path = ("kyverno", index)
    version = row["version"]
    if "kubernetes" not in row and not is_known:
        hint = 'write the oldest and the newest, such as kubernetes: ["1.33", "1.35"]'
        message = f"which Kubernetes versions Kyverno {version} supports is missing"
        raise InputError(message, section.locate(*path), hint)
    if "kubernetes" in row:
        oldest, newest = (parse_version(kubernete, "Kubernetes") for kubernete in row["kubernetes"])
        if newest < oldest:
            message = f"{oldest} is newer than {newest}"
            hint = "write the oldest first"
            raise InputError(message, section.locate(*path, "kubernetes"), hint)
    for release in row.get("releases", {}):
        if release.rpartition(".")[0] != version:
            message = f"{release} is not a release of Kyverno {version}"
            raise InputError(message, section.locate(*path, "releases", release))


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split("."))) if release else ()
