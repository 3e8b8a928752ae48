"""The deployers by name, and their folders in a project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from chartkit.output.write import Tree
from chartkit.project.project import Project
from chartkit.render.gitops import argocd, flux, helmfile, terraform
from chartkit.render.gitops.checks import HEADER, Repository
from chartkit.render.model import GITOPS

DEPLOYERS: Final[Mapping[str, Callable[[Project, Repository], Mapping[str, str]]]] = (
    MappingProxyType(
        {
            "argocd": argocd.files,
            "flux": flux.files,
            "helmfile": helmfile.files,
            "terraform": terraform.files,
        }
    )
)


FROM_GIT: Final = frozenset({"argocd", "flux"})
"""The deployers that read the charts from a git repository."""


def trees(project: Project, names: Iterable[str], repository: Repository) -> Iterator[Tree]:
    """Yield the folder of each deployer, without files of environments that are no more."""
    for name in names:
        folder = project.root / GITOPS / name
        files = DEPLOYERS[name](project, repository)
        there = (each for each in folder.rglob("*") if each.is_file())
        stale = frozenset(
            name
            for each in there
            if (name := each.relative_to(folder).as_posix()) not in files
            and each.read_text("utf-8", "replace").startswith(HEADER)
        )
        yield Tree(folder, files, stale)
