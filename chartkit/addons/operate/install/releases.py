"""Helm's releases in a cluster: what is known of one, and what is asked of Helm."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from chartkit.documents.reader import read_text, resources
from chartkit.errors import InputError
from chartkit.model import Body, Resource
from chartkit.network.cluster.errors import ReleaseError

MARK: Final = {"chartkit": "install"}
"""The label of a release that chartkit wrote."""
_DRIVERS: Final = {
    "": "secret",
    "secret": "secret",
    "secrets": "secret",
    "configmap": "config_map",
    "configmaps": "config_map",
}


class Status(StrEnum):
    """A release's status, in Helm's words."""

    UNKNOWN = "unknown"
    DEPLOYED = "deployed"
    UNINSTALLED = "uninstalled"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    UNINSTALLING = "uninstalling"
    PENDING_INSTALL = "pending-install"
    PENDING_UPGRADE = "pending-upgrade"
    PENDING_ROLLBACK = "pending-rollback"

    @property
    def pending(self) -> bool:
        """Tell whether an operation of Helm's is unfinished, which blocks others."""
        return self in (Status.PENDING_INSTALL, Status.PENDING_UPGRADE, Status.PENDING_ROLLBACK)


@dataclass(frozen=True, slots=True)
class Release:
    """A release as its last revision has it.

    since: when that revision was begun; marked: whether chartkit wrote it; manifest: what it
    installs, hooks left out; values: what it was given, without the chart's own.
    """

    name: str
    revision: int
    status: Status
    chart: str
    version: str
    app_version: str
    since: datetime
    marked: bool
    manifest: str = field(repr=False)
    values: Body = field(repr=False)

    @property
    def resources(self) -> list[Resource]:
        """The objects of its manifest."""
        return resources(read_text(self.manifest, f"release {self.name}"))


_OBJECT: Final = "server-side apply failed for object "
"""Helm's words before each object that failed."""


@dataclass(frozen=True, slots=True)
class DesiredRelease:
    """A release as it is to be: the chart's folder, its version, Kyverno's, and the values."""

    name: str
    chart: Path
    version: str
    app_version: str
    values: Body = field(repr=False)


class Releases(Protocol):
    """A port to Helm; every method raises ReleaseError with Helm's text."""

    def read(self, name: str) -> Release | None:
        """Return a release, None where there is none."""

    def install(self, wanted: DesiredRelease) -> None:
        """Install a chart, in a namespace that is created if it is missing; waits for hooks."""

    def upgrade(self, wanted: DesiredRelease) -> None:
        """Upgrade a release to a chart and these values alone; waits for hooks."""

    def uninstall(self, name: str, hooks: bool) -> None:
        """Remove a release; hooks: whether its clean-up jobs run first."""


def failure(text: str) -> ReleaseError:
    """Return Helm's error, with a hint where another program owns a field."""
    hint = None
    if "conflict with " in text:
        hint = "use --force-conflicts to take over fields that others wrote"
    said = " ".join(f"Helm: {text}".split())
    first, *objects = said.split(_OBJECT)
    if len(objects) > 1:
        said = f"{first}{_OBJECT}{objects[0].strip()} (and {len(objects) - 1} more objects)"
    return ReleaseError(said, None, hint)


def driver() -> str:
    """Return the storage of releases, `secret` or `config_map`, by HELM_DRIVER. Raises InputError
    for any other place, whose unfinished releases chartkit cannot repair."""
    named = os.environ.get("HELM_DRIVER", "")
    if named not in _DRIVERS:
        hint = "chartkit knows releases in Secrets and ConfigMaps"
        raise InputError(f"HELM_DRIVER is '{named}'", None, hint)
    return _DRIVERS[named]


def record_name(release: str, revision: int) -> str:
    """Return the name of the Secret or ConfigMap in which Helm keeps a revision."""
    return f"sh.helm.release.v1.{release}.v{revision}"


def release_of(body: Body, manifest: str, values: Body | None) -> Release:
    """Return a release from what `helm get metadata -o json` has."""
    return Release(
        name=body["name"],
        revision=int(body["revision"]),
        status=_status(body["status"]),
        chart=body.get("chart", ""),
        version=body.get("version", ""),
        app_version=body.get("appVersion", ""),
        since=_time(body.get("deployedAt")),
        marked=MARK.items() <= (body.get("labels") or {}).items(),
        manifest=manifest,
        values=values or {},
    )


def _status(text: str) -> Status:
    return Status(text) if text in list(Status) else Status.UNKNOWN


def _time(text: Any) -> datetime:
    """Return a time of Helm's; the oldest one for none."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
