"""Estates, which hold what is in use in an environment, and rows about what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from chartkit.documents.reader import Document
from chartkit.kyverno.versions import Version
from chartkit.model import Location, Resource
from chartkit.scan.cluster import Survey


class Outcome(StrEnum):
    """The outcome for something that is in use."""

    TAKEN = "taken"
    CHANGED = "changed"
    NOTE = "note"
    LEFT = "left"


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


@dataclass(frozen=True, slots=True)
class EngineValues:
    """Values of the engine's chart; chart: its version, None where nothing says it."""

    document: Document
    chart: Version | None = None


@dataclass(slots=True)
class Estate:
    """Everything that is in use in one environment.

    policies: bindings of Kubernetes' policies are among them; engine: Kyverno's Deployments;
    release: the objects of the Helm release that these are of, None where it is not known; objects:
    all others of files; workloads: the paths that hold these; survey: of a cluster, None for files
    alone; cluster_version: as the API server gives it; rows: about what was passed over.
    """

    name: str
    policies: list[Piece] = field(default_factory=list)
    exceptions: list[Piece] = field(default_factory=list)
    values: list[EngineValues] = field(default_factory=list)
    engine: list[Resource] = field(default_factory=list)
    release: list[Resource] | None = None
    objects: list[Resource] = field(default_factory=list)
    workloads: list[str] = field(default_factory=list)
    survey: Survey | None = None
    cluster_version: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def file_name(self) -> str:
        """Return its name in those of files and folders: `prd_east` for the cluster `prd/east`."""
        return self.name.replace("/", "_")
