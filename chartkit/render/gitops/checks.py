"""Values of the engine that go wrong with a deployer: one rule a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.input_files import checkout_top
from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.model import Json, value_at
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.chart import CheckTarget
from chartkit.render.model import Outcome, Row

_CHECK: Final = "gitops"
_PITFALLS: Final = Path(__file__).with_name("pitfalls.yaml")
HEADER: Final = "# Written by chartkit render --gitops; an edit is lost.\n"
_DEFAULT_REVISION: Final = "main"
FROM_GIT: Final = frozenset({"argocd", "flux"})
"""The deployers that read a repository."""


def rows(subjects: Sequence[CheckTarget], deployers: Sequence[str]) -> Iterator[Row]:
    """Yield a warning for each value of the engine that goes wrong with a chosen deployer."""
    for subject in subjects:
        if subject.engine is not None:
            values = subject.engine.lint_subject()
            name = subject.environment.name
            for pitfall in read_file(_PITFALLS)[0].body:
                path = pitfall["path"]
                concerned = [item for item in deployers if item in pitfall["deployers"]]
                if concerned and value_at(values.values, path) == pitfall["value"]:
                    message = f"{', '.join(concerned)}: {pitfall['message']}"
                    location = values.locate(path)
                    yield Row(name, _CHECK, Outcome.WARNING, message, location, pitfall["hint"])


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
    """One chart in an environment. chart: its folder below the project's; values_files: their names
    in it, the last wins; after: the release that must be ready before."""

    name: str
    chart: str
    namespace: str
    values_files: tuple[str, ...]
    after: str = ""

    @property
    def is_engine(self) -> bool:
        """True for Kyverno itself, with the definitions."""
        return self.name == ENGINE


def releases(project: Project, environment: Environment) -> Sequence[Release]:
    """Return an environment's releases, in the order in which they are installed."""
    charts = project.charts.relative_to(project.root).as_posix()
    files, after = environment.values_files, ENGINE if environment.engine else ""
    policies = Release(POLICIES, f"{charts}/{POLICIES}", NAMESPACE, files, after)
    if not environment.engine:
        return (policies,)
    return Release(ENGINE, f"{charts}/{ENGINE}", NAMESPACE, files), policies


NO_REPOSITORY: Final = Repository("", "", "")
"""For deployers that read the project's folder."""


def read_repository(
    project: Project, deployers: Iterable[str], url: str | None, revision: str | None
) -> Repository:
    """Return the repository of a project, as given or the first of its `sources`, where deployers
    read one. Raise InputError where there is neither, and for one that no deployer reads."""
    if FROM_GIT.isdisjoint(deployers):
        if url or revision:
            raise InputError("--repository and --revision are for --gitops argocd or flux")
        return NO_REPOSITORY
    sources: Json = project.metadata.fields.get("sources") or [None]
    address = url or sources[0]
    if not isinstance(address, str):
        hint = "give --repository URL, or `sources: [URL]` in chartkit.yaml"
        raise InputError("which repository holds the charts is not known", project.locate(), hint)
    root = project.root.resolve()
    top = checkout_top(root) or root
    path = root.relative_to(top)
    inside = "" if path == Path() else path.as_posix()
    return Repository(address, revision or _DEFAULT_REVISION, inside)
