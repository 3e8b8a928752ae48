"""Kyverno's and Kubernetes' releases: `releases.yaml`, the only place that names a version.

`docs/how-to/new-release.md` says what to do for a new one. `facts` replaces most of it by a newer
file. A project adds to them by `versions:` in chartkit.yaml, a command by `--matrix FILE`;
`added_releases` reads these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chartkit.documents.reader import read_file
from chartkit.kyverno.facts import SECTIONS, Facts, kept
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body

_DATA = Path(__file__).parent / "releases.yaml"
_KEYS = {"kyverno": "version", "announced": "version", "eks": "version", "faults": "name"}


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
            rows[row[name]] = _merged(rows.get(row[name], {}), row)
        return list(rows.values()) if key == "faults" else sorted(rows.values(), key=_version)

    def with_added(self, sections: Body) -> ReleaseData:
        """Return what is known with other sections on top."""
        merged = {key: [*self.added.get(key, ()), *sections.get(key, ())] for key in _KEYS}
        return ReleaseData(merged)


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
    """Return the facts in use: those that are kept, where they are newer than chartkit's own."""
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


def _merged(row: Body, added: Body) -> Body:
    """Return a row with the keys of another; releases and changes add up."""
    merged = {**row, **added}
    if "releases" in row and "releases" in added:
        merged["releases"] = {**row["releases"], **added["releases"]}
    if "changes" in row and "changes" in added:
        merged["changes"] = [*row["changes"], *added["changes"]]
    return merged


def _version(row: Body) -> Version:
    return parse_version(row["version"], "it")
