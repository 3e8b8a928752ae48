"""The deployers by name: the files that Argo CD, Flux, Helmfile and Terraform need of a project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from chartkit.documents.yaml_dump import dump_documents
from chartkit.library.templating import as_json, render_text, render_yaml
from chartkit.model import Body
from chartkit.output.write import Tree
from chartkit.project.project import Project
from chartkit.render.gitops.checks import HEADER, Release, Repository, releases
from chartkit.render.model import GITOPS

_NOTE: Final = """\
# Each destination is a cluster by the name under which Argo CD has it.
# Argo CD runs no hook of Helm before it deletes: `chartkit uninstall ENV` removes Kyverno with its
# webhooks, which would refuse requests otherwise that nothing answers.
"""


def _yaml(name: str, **context: Any) -> str:
    """Return the documents of a template of this folder."""
    documents = render_yaml(Path(__file__).with_name(f"{name}.yaml.j2"), context)
    return dump_documents(document.body for document in documents)


def argocd_files(project: Project, repository: Repository) -> Mapping[str, str]:
    """Return the files by name: an ApplicationSet for each chart."""
    by_chart: dict[str, tuple[Release, list[Body]]] = {}
    for environment in project.environments.values():
        name = environment.file_name.replace("_", "-")
        for release in releases(project, environment):
            files = list(release.values_files)
            element = {"environment": name, "destination": name, "valueFiles": files}
            by_chart.setdefault(release.name, (release, []))[1].append(element)
    return {
        f"{name}.yaml": HEADER
        + _NOTE
        + _yaml("argocd", release=release, repository=repository, elements=elements)
        for name, (release, elements) in by_chart.items()
    }


def flux_files(project: Project, repository: Repository) -> Mapping[str, str]:
    """Return the files by path: a folder for each environment or cluster."""
    files: dict[str, str] = {}
    for environment in project.environments.values():
        folder, installed = environment.file_name, releases(project, environment)
        context = {"repository": repository, "releases": installed, "folder": folder}
        files[f"{folder}/flux.yaml"] = HEADER + _yaml("flux", **context)
        for release in installed:
            text = _yaml("release", repository=repository, release=release)
            files[f"{folder}/{release.name}/release.yaml"] = HEADER + text
    return files


def helmfile_files(project: Project, _repository: Repository) -> Mapping[str, str]:
    """Return the files by name: one for each environment or cluster."""
    files: dict[str, str] = {}
    for environment in project.environments.values():
        folder, installed = environment.file_name, releases(project, environment)
        text = _yaml("helmfile", folder=folder, releases=installed)
        files[f"{folder}.yaml"] = HEADER + text
    return files


def terraform_files(project: Project, _repository: Repository) -> Mapping[str, str]:
    """Return the files by path: one for each environment or cluster."""
    path = Path(__file__).with_name("main.tf.j2")
    text = path.read_text("utf-8")
    files: dict[str, str] = {}
    for environment in project.environments.values():
        context = {"releases": releases(project, environment)}
        written = render_text(text, context, str(path), printed=as_json)
        files[f"{environment.file_name}/main.tf"] = HEADER + written
    return files


DEPLOYERS: Final[Mapping[str, Callable[[Project, Repository], Mapping[str, str]]]] = (
    MappingProxyType(
        {
            "argocd": argocd_files,
            "flux": flux_files,
            "helmfile": helmfile_files,
            "terraform": terraform_files,
        }
    )
)


def trees(project: Project, names: Iterable[str], repository: Repository) -> Iterator[Tree]:
    """Yield the folder of each deployer, without files of environments that are no more."""
    for name in names:
        folder = project.root / GITOPS / name
        files = DEPLOYERS[name](project, repository)
        there = (path for path in folder.rglob("*") if path.is_file())
        stale = frozenset(
            name
            for path in there
            if (name := path.relative_to(folder).as_posix()) not in files
            and path.read_text("utf-8", "replace").startswith(HEADER)
        )
        yield Tree(folder, files, stale)
