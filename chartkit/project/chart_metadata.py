"""The metadata of the generated charts, as chartkit.yaml gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import semver

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body, Json

VERSION: Final = "chartVersion"
_COPIED: Final = ("home", "icon", "sources", "maintainers")
"""The keys of chartkit.yaml that are keys of Chart.yaml, too."""


@dataclass(frozen=True, slots=True)
class ChartMetadata:
    """The metadata of the project's charts.

    version: of both charts, None for that of Kyverno's own chart; fields: the fields of Chart.yaml
    that the project sets.
    """

    version: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict)


UPSTREAM: Final = ChartMetadata()
"""The metadata of charts of which the project says nothing."""


def read_metadata(document: Document) -> ChartMetadata:
    """Return the metadata that a project file gives; raise InputError for a version that Helm
    refuses."""
    body: Body = document.body
    version = body.get(VERSION)
    if version is not None and not semver.Version.is_valid(version):
        hint = f'a semantic version such as {VERSION}: "1.4.0"'
        raise InputError(f"'{version}' is no chart version", document.locate(VERSION), hint)
    fields: Body = {key: body[key] for key in _COPIED if key in body}
    return ChartMetadata(version, MappingProxyType(fields))
