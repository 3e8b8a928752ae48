"""Estates, which hold what is in use in an environment, and rows about what became of it; objects
as a project's files have them, without what an API server and deployers wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Location, Resource, mapping_at
from chartkit.network.cluster.cleaning import LAST_APPLIED
from chartkit.scan.cluster import Survey

_METADATA: Final = ("name", "namespace", "labels", "annotations")
_MARKS: Final = frozenset(
    (
        LAST_APPLIED,
        "app.kubernetes.io/managed-by",
        "helm.sh/chart",
        "argocd.argoproj.io/instance",
        "argocd.argoproj.io/tracking-id",
    )
)
_MARK_PREFIXES: Final = ("meta.helm.sh/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/")
DEFAULT_ENVIRONMENT: Final = "prd"


class Outcome(StrEnum):
    """The outcome for something that is in use."""

    TAKEN = "taken"
    CHANGED = "changed"
    NOTE = "note"
    LEFT = "left"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Row:
    """subject: what it is about, such as `ClusterPolicy require-team`; hint: what to do."""

    outcome: Outcome
    subject: str
    message: str
    location: Location | None = None
    hint: str = ""
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """An object in use; text: as its author wrote it, empty for one that has to be written out;
    chart: the folder of the chart that it was rendered from."""

    resource: Resource
    text: str = ""
    chart: str = ""

    @property
    def subject(self) -> str:
        """Its kind and name, with its namespace."""
        where = f"{self.resource.namespace}/" if self.resource.namespace else ""
        return f"{self.resource.kind} {where}{self.resource.name}"

    def row(self, outcome: Outcome, message: str, hint: str = "", environment: str = "") -> Row:
        """Return a row about the object."""
        return Row(outcome, self.subject, message, self.resource.location, hint, environment)


@dataclass(frozen=True, slots=True)
class EngineValues:
    """Values of the engine's chart; chart: its version, None where nothing says it; find: the
    location of a path of these values that are part of a file, None where they are all of it."""

    document: Document
    chart: Version | None = None
    find: Callable[..., Location] | None = None

    def locate(self, key: str = "", line: int = 0) -> Location:
        """The location of a key, with dots; line: in the document, where it is known."""
        if self.find is None and (line or not key):
            return Location(self.document.source.file, line or 1)
        find = self.find or self.document.locate
        return replace(find(*filter(None, key.split("."))), column=0)


@dataclass(slots=True)
class Estate:
    """Everything that is in use in one environment.

    policies: bindings of Kubernetes' policies are among them; chart_values: of upstream's chart
    kyverno-policies; engine: Kyverno's Deployments;
    release: the objects of the Helm release that these are of, None where it is not known; objects:
    all others of files; workloads: the paths that hold these; survey: of a cluster, None for files
    alone; cluster_version: as the API server gives it; rows: about what was passed over.
    """

    name: str
    policies: list[Piece] = field(default_factory=list)
    exceptions: list[Piece] = field(default_factory=list)
    values: list[EngineValues] = field(default_factory=list)
    chart_values: list[Document] = field(default_factory=list)
    engine: list[Resource] = field(default_factory=list)
    release: list[Resource] | None = None
    objects: list[Resource] = field(default_factory=list)
    workloads: list[str] = field(default_factory=list)
    survey: Survey | None = None
    cluster_version: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def file_name(self) -> str:
        """Return its name for files and folders: `prd_east` for the cluster `prd/east`."""
        return self.name.replace("/", "_")


@dataclass(frozen=True, slots=True)
class Substitute:
    """A policy of a library in place of one that differs between environments.

    reference: the library's policy, with the library's name; settings: what chartkit.yaml says of
    it in each environment; bodies: the policy as it is there.
    """

    reference: str
    settings: Mapping[str, Body]
    bodies: Mapping[str, Body]


def plain(body: Body) -> Body:
    """Return an object without its status, the fields that an API server wrote, and the labels and
    annotations by which deployers know what is theirs."""
    metadata = mapping_at(body, "metadata")
    kept: Body = {key: metadata[key] for key in _METADATA if key in metadata}
    for key in ("labels", "annotations"):
        if isinstance(kept.get(key), dict):
            kept[key] = {
                name: value
                for name, value in kept[key].items()
                if name not in _MARKS and not str(name).startswith(_MARK_PREFIXES)
            }
        if not kept.get(key):
            kept.pop(key, None)
    first: Body = {key: body[key] for key in ("apiVersion", "kind") if key in body}
    rest = {key: value for key, value in body.items() if key not in (*first, "metadata", "status")}
    return {**first, "metadata": kept, **rest}


def text_of(piece: Piece) -> str:
    """Return the text of an object for a file of the project."""
    return piece.text or dump_yaml(plain(piece.resource.body))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptOptions:
    """paths: what every environment has; environments: `NAME` or `NAME=PATH`, the latter with what
    that one has besides; kyverno, kubernetes, eks: versions where nothing tells them; values: of
    the engine's chart; chart_version: of the engine's chart that the values are for; cluster,
    context, record, exclude: as for a scan; folder: the project's; force: whether to overwrite;
    dry_run: whether to write nothing."""

    paths: tuple[str, ...]
    environments: tuple[str, ...]
    folder: Path
    kyverno: str | None
    kubernetes: str | None
    eks: str | None
    values: tuple[Path, ...]
    chart_version: str | None
    cluster: bool
    context: str | None
    record: Path | None
    exclude: tuple[str, ...]
    force: bool
    dry_run: bool
