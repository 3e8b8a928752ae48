"""A foreign chart's files, looked at before anything is made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Body, Location
from chartkit.network.downloads.lockfile import DEFAULT, FileCollector, Limits
from chartkit.output.write import RECORD

METADATA: Final = "Chart.yaml"
VALUES: Final = "values.yaml"
_OLD_DEPENDENCIES: Final = "requirements.yaml"
_SUBCHART: Final = re.compile(r"(?:.*/)?charts/[^/]+\.(?:tgz|tar\.gz)")
_DEEPEST: Final = 4
"""The deepest nesting of archives of subcharts."""


@dataclass(frozen=True, slots=True)
class ChartFiles:
    """A chart: what Chart.yaml says, its default values, and its files as text by path. Subcharts
    that came as archives are unpacked: Helm takes a folder as well."""

    metadata: Body
    defaults: Body
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """The chart's name."""
        return str(self.metadata["name"])

    @property
    def version(self) -> str:
        """The chart's version, without a `v` before it."""
        return plain_version(str(self.metadata["version"]))

    @property
    def app_version(self) -> str:
        """The version of what it installs; empty where it does not say."""
        return str(self.metadata.get("appVersion") or "")


def plain_version(text: str) -> str:
    """A version without the `v` that some charts and people write before it."""
    return text.strip().removeprefix("v")


def read_chart(files: Mapping[str, bytes], shown: str, limits: Limits = DEFAULT) -> ChartFiles:
    """The chart that files make; shown: where they are from, for messages. Raises InputError where
    they are none, where a subchart is missing, and where a file is not a string."""
    collected = FileCollector(shown, limits)
    for name, content in _unpacked(files, shown, limits, 0):
        collected.add(name, content)
    texts = {name: _text(name, content, shown) for name, content in collected.finish().items()}
    if METADATA not in texts:
        raise InputError(f"is not a chart: it has no {METADATA}", Location(shown))
    metadata = _mapping(texts, METADATA, shown)
    if not all(isinstance(metadata.get(key), str) for key in ("name", "version")):
        where = Location(f"{shown}/{METADATA}", 1)
        raise InputError("says neither name nor version", where)
    defaults = _mapping(texts, VALUES, shown)
    # Helm renders no chart that lacks a subchart, be it switched off or not.
    file: str = METADATA
    named = metadata.get("dependencies")
    if named is None and _OLD_DEPENDENCIES in texts:
        file = _OLD_DEPENDENCIES
        named = _mapping(texts, file, shown).get("dependencies")
    there: set[str] = set()
    for name in texts:
        parts = name.split("/")
        if len(parts) == 3 and parts[0] == "charts" and parts[2] == METADATA:
            there.add(str(_mapping(texts, name, shown).get("name")))
    for dependency in named if isinstance(named, list) else ():
        subchart = dependency.get("name") if isinstance(dependency, dict) else None
        if subchart not in there:
            hint = f"`helm dependency build {shown}` fetches it; a published chart has it"
            what = f"the subchart '{subchart}' is not in charts/"
            raise InputError(what, Location(f"{shown}/{file}"), hint)
    return ChartFiles(metadata, defaults, texts)


def _unpacked(
    files: Mapping[str, bytes], shown: str, limits: Limits, depth: int
) -> Iterator[tuple[str, bytes]]:
    if depth > _DEEPEST:
        raise InputError("has archives in archives in archives", Location(shown))
    for name, content in files.items():
        if _SUBCHART.fullmatch(name):
            # Few charts bring archives, and few commands unpack any.
            from chartkit.network.downloads.download import unpack

            folder = name.rpartition("/")[0]
            inner = unpack(content, f"{shown}/{name}", limits)
            below = _unpacked(inner, f"{shown}/{name}", limits, depth + 1)
            yield from ((f"{folder}/{file}", text) for file, text in below)
        else:
            yield name, content


def _text(name: str, content: bytes, shown: str) -> str:
    """A file as `documents.read_source` will read it once it is written."""
    if name.partition("/")[0] == RECORD:
        raise InputError(f"has a folder {RECORD}, which is chartkit's own", Location(shown))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        hint = "chartkit writes charts as text"
        raise InputError("is not UTF-8 text", Location(f"{shown}/{name}"), hint) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _mapping(texts: Mapping[str, str], name: str, shown: str) -> Body:
    documents = read_text(texts.get(name, ""), f"{shown}/{name}")
    if not documents or documents[0].body is None:
        return {}
    if len(documents) > 1 or not isinstance(documents[0].body, dict):
        raise InputError("must be one mapping", documents[-1].location)
    return documents[0].body
