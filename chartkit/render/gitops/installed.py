"""The releases that a deployer installs, in their order: the engine, then the policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.checkout import checkout_top
from chartkit.errors import InputError
from chartkit.model import Body, Json
from chartkit.project.environment import Environment
from chartkit.project.project import Project

KEEP: Final = {"helm.sh/resource-policy": "keep"}
"""The annotation of objects that Helm leaves when it uninstalls a release."""
HEADER: Final = "# Written by chartkit render --gitops; an edit is lost.\n"
_DEFAULT_REVISION: Final = "main"


@dataclass(frozen=True, slots=True)
class Repository:
    """The git repository that holds a project; path: the project's folder in it, may be empty."""

    url: str
    revision: str
    path: str

    def within(self, *parts: str) -> str:
        """Return the path of a file or folder of the project in the repository."""
        return "/".join(part for part in (self.path, *parts) if part)


@dataclass(frozen=True, slots=True)
class Release:
    """One chart in an environment.

    chart: its folder below the project's; values_files: their names in it, the last wins; after:
    the release that must be ready before.
    """

    name: str
    chart: str
    namespace: str
    values_files: tuple[str, ...]
    after: str = ""

    @property
    def is_engine(self) -> bool:
        """True for Kyverno itself, with the definitions."""
        return self.name == ENGINE

    def values(self, annotations: Body) -> Body:
        """Return what a deployer adds to the values: annotations of the definitions."""
        return {"crds": {"annotations": annotations}} if self.is_engine else {}


def releases(project: Project, environment: Environment) -> Sequence[Release]:
    """Return an environment's releases, in the order in which they are installed."""
    charts = project.charts.relative_to(project.root).as_posix()
    return tuple(_releases(charts, environment))


def _releases(charts: str, environment: Environment) -> Iterator[Release]:
    files = environment.values_files
    if environment.engine:
        yield Release(ENGINE, f"{charts}/{ENGINE}", NAMESPACE, files)
    after = ENGINE if environment.engine else ""
    yield Release(POLICIES, f"{charts}/{POLICIES}", NAMESPACE, files, after)


NO_REPOSITORY: Final = Repository("", "", "")
"""For deployers that read the project's folder."""


def read_repository(project: Project, url: str | None, revision: str | None) -> Repository:
    """Return the repository of a project: as given, or the first of its `sources`.

    Raise InputError where there is neither.
    """
    sources: Json = project.metadata.fields.get("sources") or [None]
    found = url or sources[0]
    if not isinstance(found, str):
        hint = "give --repository URL, or `sources: [URL]` in chartkit.yaml"
        raise InputError("which repository holds the charts is not known", project.locate(), hint)
    root = project.root.resolve()
    top = checkout_top(root) or root
    path = root.relative_to(top)
    inside = "" if path == Path() else path.as_posix()
    return Repository(found, revision or _DEFAULT_REVISION, inside)
