"""Helm repositories: `index.yaml` says where a chart's versions are, with their digests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urljoin

import semver

from chartkit.charts.upstream.chart_files import plain_version
from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location
from chartkit.network.downloads.download import checked_url, download
from chartkit.network.downloads.limits import Limits
from chartkit.network.downloads.lockfile import digest
from chartkit.network.http.urls import shown_url

INDEX: Final = "index.yaml"
_LARGEST_INDEX: Final = 32_000_000
"""Bytes; the index of Kyverno's charts has some two million."""
_SHOWN: Final = 5
_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Offer:
    """A version of a chart as an index has it; sha256: of its archive."""

    url: str
    sha256: str


def find(repository: str, name: str, version: str, limits: Limits) -> Offer:
    """Return the entry of a chart's version in a repository's index; raises InputError."""
    index = f"{repository.rstrip('/')}/{INDEX}"
    content = download(index, replace(limits, archive=min(limits.archive, _LARGEST_INDEX)))
    place = shown_url(index)
    entries = _entries(content, place, name)
    for entry in entries:
        if plain_version(str(entry.get("version"))) == plain_version(version):
            return _offer(entry, index, f"{name} {version}")
    newest = ", ".join(_newest(entries)) or "none"
    hint = f"the newest are {newest}"
    raise InputError(f"has no version {version} of {name}", Location(place), hint)


def fetch(offer: Offer, limits: Limits) -> bytes:
    """The archive of an offer; raises InputError, too, where it is not the one of the index."""
    content = download(offer.url, limits)
    found = digest(content)
    if found != offer.sha256:
        what = f"is not what the index says: its SHA-256 is {found}, and not {offer.sha256}"
        hint = "it was changed after it was published, or on its way: ask who publishes it"
        raise InputError(what, Location(shown_url(offer.url)), hint)
    return content


def _entries(content: bytes, index: str, name: str) -> list[Body]:
    try:
        documents = read_text(content.decode("utf-8"), index)
    except UnicodeDecodeError:
        documents = []
    body = documents[0].body if documents else None
    charts = body.get("entries") if isinstance(body, dict) else None
    if not isinstance(charts, dict):
        hint = "give the URL of the folder with index.yaml, or of an archive (.tgz)"
        raise InputError("is no index of a Helm repository", Location(index), hint)
    found = charts.get(name)
    if not isinstance(found, list) or not found:
        known = ", ".join(sorted(map(str, charts))[:_SHOWN]) or "none"
        raise InputError(f"has no chart {name}", Location(index), f"it has {known}")
    return [entry for entry in found if isinstance(entry, dict)]


def _offer(entry: Body, index: str, what: str) -> Offer:
    place = Location(shown_url(index))
    urls, found = entry.get("urls"), _digest(entry.get("digest"))
    if not isinstance(urls, list) or not urls or not isinstance(urls[0], str):
        raise InputError(f"does not say where {what} is", place)
    if not found:
        hint = "download the archive yourself, see that it is the right one, and give it by --from"
        raise InputError(f"has no digest for {what}", place, hint)
    url = urljoin(index, urls[0])
    if checked_url(index).scheme == "https" and checked_url(url).scheme != "https":
        raise InputError(f"leads from https to {shown_url(url)}", place)
    return Offer(url, found)


def _digest(text: Json) -> str:
    found = _DIGEST.fullmatch(text.lower()) if isinstance(text, str) else None
    return found[1] if found else ""


def _newest(entries: list[Body]) -> Iterator[str]:
    versions = [plain_version(str(entry.get("version"))) for entry in entries]
    known = [each for each in versions if semver.Version.is_valid(each)]
    released = [each for each in known if not semver.Version.parse(each).prerelease]
    yield from sorted(released or known, key=semver.Version.parse, reverse=True)[:_SHOWN]
