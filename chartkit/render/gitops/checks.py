"""Values of the engine that go wrong with a deployer: one rule a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.input_files import checkout_top
from chartkit.errors import InputError
from chartkit.model import Body, Json, value_at
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.chart import CheckTarget
from chartkit.render.model import Outcome, Row

_CHECK: Final = "gitops"
_ALL: Final = frozenset({"argocd", "flux", "helmfile", "terraform"})
KEEP: Final = {"helm.sh/resource-policy": "keep"}
"""The annotation of objects that Helm leaves when it uninstalls a release."""
HEADER: Final = "# Written by chartkit render --gitops; an edit is lost.\n"
_DEFAULT_REVISION: Final = "main"
FROM_GIT: Final = frozenset({"argocd", "flux"})
"""The deployers that read a repository."""


@dataclass(frozen=True, slots=True)
class _Pitfall:
    """A value that does harm with some deployers; hint: what to do."""

    path: tuple[str, ...]
    value: Json
    deployers: frozenset[str]
    message: str
    hint: str


_PITFALLS: Final = (
    *(
        _Pitfall(
            (controller, "createSelfSignedCert"),
            True,
            frozenset({"argocd"}),
            "Argo CD renders without the cluster: every sync makes new certificates, which no Pod "
            "has until it restarts",
            f"leave {controller}.createSelfSignedCert false: Kyverno makes and renews them",
        )
        for controller in ("admissionController", "cleanupController")
    ),
    _Pitfall(
        ("webhooksCleanup", "enabled"),
        False,
        _ALL - {"argocd"},
        "nothing removes Kyverno's webhooks when the release is removed: they refuse requests "
        "that nothing answers",
        "leave webhooksCleanup.enabled true",
    ),
    _Pitfall(
        ("crds", "annotations", "helm.sh/resource-policy"),
        "delete",
        _ALL,
        "the definitions would be removed with the release, and every policy and report with them",
        "leave the annotation out: the deployer's files have `keep`",
    ),
    _Pitfall(
        ("global", "templating", "enabled"),
        True,
        _ALL,
        "plain manifests have no hooks: nothing migrates stored policies or removes webhooks",
        "leave global.templating.enabled false for an installation by Helm",
    ),
)


def rows(subjects: Sequence[CheckTarget], deployers: Sequence[str]) -> Iterator[Row]:
    """Yield a warning for each value of the engine that goes wrong with a chosen deployer."""
    for subject in subjects:
        if subject.engine is not None:
            values = subject.engine.lint_subject()
            name = subject.environment.name
            for pitfall in _PITFALLS:
                concerned = [deployer for deployer in deployers if deployer in pitfall.deployers]
                if concerned and value_at(values.values, pitfall.path) == pitfall.value:
                    message = f"{', '.join(concerned)}: {pitfall.message}"
                    location = values.locate(pitfall.path)
                    yield Row(name, _CHECK, Outcome.WARNING, message, location, pitfall.hint)


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
        """Return the values that a deployer adds: annotations of the definitions."""
        return {"crds": {"annotations": annotations}} if self.is_engine else {}


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
    read one.

    Raise InputError where there is neither, and for one that no deployer reads.
    """
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
