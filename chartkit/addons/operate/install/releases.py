"""Helm's releases in a cluster: what is known of one, and what Helm does with it."""

from __future__ import annotations

import base64
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.documents.json_text import parse_json
from chartkit.documents.reader import read_text, resources
from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import InputError
from chartkit.helm.backend import HelmCallError, HelmClient, HelmRefusedError
from chartkit.model import Body, Resource, mapping_at, text_of
from chartkit.network.cluster.client import CONFIG_MAPS, SECRETS, Cluster, Collection
from chartkit.network.cluster.source import ReleaseError
from chartkit.temporary import temporary_folder
from chartkit.wording import counted

_GRACE_SECONDS: Final = 60
"""Seconds that Helm may take beyond its own timeout, for hooks."""

MARK: Final = {"chartkit": "install"}
"""The label of a release that chartkit wrote."""
_DRIVERS: Final = {
    "": SECRETS,
    "secret": SECRETS,
    "secrets": SECRETS,
    "configmap": CONFIG_MAPS,
    "configmaps": CONFIG_MAPS,
}
_OBJECT: Final = "server-side apply failed for object "
"""Helm's words before each object that failed."""
_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a release: more than any that fits into a Secret comes to."""
_POLICY: Final = "helm.sh/resource-policy"


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
        """Report whether an operation of Helm's is unfinished and blocks others."""
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


@dataclass(frozen=True, slots=True)
class DesiredRelease:
    """A release as it is to be: the chart's folder, its version, Kyverno's, and the values."""

    name: str
    chart: Path
    version: str
    app_version: str
    values: Body = field(repr=False)


def described(release: Release | None) -> str:
    """Return a release in words: `3.9.0, deployed (revision 2)`."""
    if release is None:
        return "not there"
    chart = "" if release.chart == release.name else f"chart {release.chart} "
    return f"{chart}{release.version}, {release.status} (revision {release.revision})"


class Releases:
    """The releases of a namespace, read and written by Helm; every method raises ReleaseError."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        timeout: int,
        force_conflicts: bool = False,
        take_ownership: bool = False,
    ) -> None:
        """Connect Helm to a cluster. timeout: seconds for hooks; force_conflicts: whether upgrades
        take over fields that another program wrote; only version 4 distinguishes them;
        take_ownership: whether releases take over objects that are there already.

        Raises HelmMissingError where there is no Helm, InputError for a HELM_DRIVER that is not
        known.
        """
        driver()
        flags = ["--namespace", namespace]
        if cluster.kubeconfig is not None:
            flags += ["--kubeconfig", str(cluster.kubeconfig)]
        if cluster.context:
            flags += ["--kube-context", cluster.context]
        self._helm = HelmClient(timeout + _GRACE_SECONDS, flags)
        self._timeout = ["--timeout", f"{timeout}s"]
        self._forced = ["--force-conflicts"] if force_conflicts else []
        self._taken = ["--take-ownership"] if take_ownership else []

    def read(self, name: str) -> Release | None:
        """Return a release, None if it is not installed."""
        with _failures():
            record = self._helm.release(name)
        return release_of(*record) if record is not None else None

    def install(self, wanted: DesiredRelease) -> None:
        """Install a chart, in a namespace that is created if it is missing; waits for hooks."""
        forced = self._forced if self._taken else []
        self._write("install", wanted, ["--create-namespace", *self._taken, *forced])

    def upgrade(self, wanted: DesiredRelease) -> None:
        """Upgrade a release to a chart and these values alone; waits for hooks."""
        self._write("upgrade", wanted, ["--reset-values", *self._forced, *self._taken])

    def uninstall(self, name: str, hooks: bool) -> None:
        """Remove a release; hooks: whether its clean-up jobs run first."""
        more = [] if hooks else ["--no-hooks"]
        with _failures():
            self._helm.run(["uninstall", name, "--ignore-not-found", *self._timeout, *more])

    def _write(self, command: str, wanted: DesiredRelease, options: list[str]) -> None:
        labels = ",".join(f"{key}={value}" for key, value in MARK.items())
        with temporary_folder() as folder, _failures():
            file = folder / "values.json"
            file.write_text(json.dumps(wanted.values), "utf-8", newline="\n")
            given = ["--values", str(file), "--labels", labels, *options, *self._timeout]
            self._helm.run([command, wanted.name, str(wanted.chart), *given])


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except HelmRefusedError as error:
        raise failure(error.message) from None
    except HelmCallError as error:
        raise ReleaseError(error.message) from None


def failure(text: str) -> ReleaseError:
    """Return Helm's error, with a hint where another program owns a field."""
    hint = None
    if "conflict with " in text:
        hint = "use --force-conflicts to take over fields that others wrote"
    said = " ".join(f"Helm: {text}".split())
    first, *objects = said.split(_OBJECT)
    if len(objects) > 1:
        said = (
            f"{first}{_OBJECT}{objects[0].strip()} (and {counted(len(objects) - 1, 'more object')})"
        )
    return ReleaseError(said, None, hint)


def driver() -> Collection:
    """Return the storage of releases, Secrets or ConfigMaps, by HELM_DRIVER. Raises InputError for
    any other place, whose unfinished releases chartkit cannot repair."""
    named = os.environ.get("HELM_DRIVER", "")
    if named not in _DRIVERS:
        hint = "chartkit knows releases in Secrets and ConfigMaps"
        raise InputError(f"HELM_DRIVER is '{named}'", None, hint)
    return _DRIVERS[named]


def record_name(release: str, revision: int) -> str:
    """Return the name of the Secret or ConfigMap in which Helm keeps a revision."""
    return f"sh.helm.release.v1.{release}.v{revision}"


def release_of(body: Body, status: Body) -> Release:
    """Return a release from what `helm get metadata` and `helm status` have."""
    try:
        since = datetime.fromisoformat(str(body.get("deployedAt"))).astimezone(UTC)
    except ValueError:
        since = datetime.min.replace(tzinfo=UTC)
    return Release(
        name=body["name"],
        revision=int(body["revision"]),
        status=Status(body["status"]) if body["status"] in [*Status] else Status.UNKNOWN,
        chart=body.get("chart", ""),
        version=body.get("version", ""),
        app_version=body.get("appVersion", ""),
        since=since,
        marked=MARK.items() <= (body.get("labels") or {}).items(),
        manifest=status.get("manifest") or "",
        values=status.get("config") or {},
    )


def deployed_objects(
    cluster: Cluster, namespace: str, release: str, revision: int
) -> list[Resource]:
    """Return the objects of the newest revision before this one that Helm deployed; none without
    such a revision, and where its record is gone. Raises ReleaseError for a record that cannot be
    read."""
    records = driver()
    for earlier in range(revision - 1, 0, -1):
        name = record_name(release, earlier)
        record = cluster.read(records, name, namespace)
        labels = mapping_at(record, "metadata", "labels")
        if record is not None and labels.get("status") in (Status.DEPLOYED, Status.SUPERSEDED):
            return manifest_objects(stored(record, records, name), name)
    return []


def manifest_objects(body: Body, name: str) -> list[Resource]:
    """Return the objects of a stored revision's manifest."""
    return resources(read_text(body["manifest"], name))


def stored(record: Body, records: Collection, name: str) -> Body:
    """Return a revision as it is stored in Secrets or ConfigMaps. Raises ReleaseError for a record
    that cannot be read."""
    encoded = text_of(mapping_at(record, "data").get("release"))
    try:
        packed = base64.b64decode(base64.b64decode(encoded) if records == SECRETS else encoded)
        unpacking = zlib.decompressobj(wbits=31)
        content = unpacking.decompress(packed, _LARGEST)
        body: Body = parse_json(content)
        manifest = body["manifest"]
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        manifest = None
    if not isinstance(manifest, str):
        hint = "`chartkit uninstall --crds` removes the definitions, and needs no record"
        raise ReleaseError(f"Helm's record {name} cannot be read", None, hint)
    return body


def packed(body: Body, records: Collection) -> str:
    """Return a revision as Helm stores it."""
    content = gzip.compress(json.dumps(body, separators=(",", ":")).encode(), mtime=0)
    encoded = base64.b64encode(content)
    return (base64.b64encode(encoded) if records == SECRETS else encoded).decode()


def keep_definitions(cluster: Cluster, namespace: str, release: str, revision: int) -> int:
    """Mark the CRDs in a release's stored manifest as kept; returns their number. Helm asks the
    manifest that it stored, not the objects, what to keep, and has no option for that. Raises
    ReleaseError for a record that cannot be read."""
    name, records = record_name(release, revision), driver()
    record = cluster.read(records, name, namespace)
    if record is None:
        return 0
    body = stored(record, records, name)
    bodies = [resource.body for resource in manifest_objects(body, name)]
    definitions = [body for body in bodies if body["kind"] == "CustomResourceDefinition"]
    for definition in definitions:
        metadata = definition["metadata"]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _POLICY: "keep"}
    if definitions:
        changed = {**body, "manifest": dump_documents(bodies)}
        patch = {"data": {"release": packed(changed, records)}}
        cluster.merge(records.path(namespace, name), patch)
    return len(definitions)
