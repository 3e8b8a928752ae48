"""Kyverno's and Kubernetes' releases: `releases.yaml`, the only place that names a version.

`docs/how-to/new-release.md` says what to do for a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from chartkit.documents.reader import read_file
from chartkit.kyverno.versions import Version, parse_version

_DATA = Path(__file__).parent / "releases.yaml"


@dataclass(frozen=True, slots=True)
class CurrentRelease:
    """The release that `chartkit render` installs.

    app_version: Kyverno's, such as `v1.19.0`, also the tag of its images; chart_version: that of
    both charts.
    """

    app_version: str
    chart_version: str

    @property
    def version(self) -> Version:
        """Its minor version."""
        return parse_version(self.app_version, "Kyverno")


def section(key: str) -> Any:
    """Return a top-level section of the file."""
    return read_file(_DATA)[0].body[key]


@cache
def current() -> CurrentRelease:
    """Return the release that `chartkit render` installs."""
    body = section("current")
    return CurrentRelease(body["appVersion"], body["chartVersion"])
