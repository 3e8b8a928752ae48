"""Flux: a HelmRelease for each chart, and two Kustomizations that order them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.documents.yaml_dump import dump_documents, dump_yaml
from chartkit.model import Body
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.gitops.checks import HEADER, KEEP, Release, Repository, releases

_NAMESPACE: Final = "flux-system"
_SOURCE: Final = {"kind": "GitRepository", "name": "kyverno"}
_IGNORED: Final[Sequence[Body]] = (
    {
        "paths": ["/rules"],
        "target": {
            "group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "kyverno:.*",
        },
    },
    {
        "paths": ["/webhooks"],
        "target": {"group": "admissionregistration.k8s.io"},
    },
)
"""Fields that Kyverno and Kubernetes write themselves: rules of aggregated roles, webhooks."""
FOLDER: Final = "gitops/flux"


def files(project: Project, repository: Repository) -> Mapping[str, str]:
    """Return the files by path: a folder for each environment or cluster."""
    found: dict[str, str] = {}
    for environment in project.environments.values():
        for name, text in _environment(project, environment, repository):
            found[f"{environment.file_name}/{name}"] = HEADER + text
    return found


def _environment(
    project: Project, environment: Environment, repository: Repository
) -> Iterator[tuple[str, str]]:
    installed = releases(project, environment)
    ordered = [_kustomization(environment, each, repository) for each in installed]
    yield "flux.yaml", dump_documents([_repository(repository), *ordered])
    for release in installed:
        yield f"{release.name}/release.yaml", dump_yaml(_helm_release(release, repository))


def _repository(repository: Repository) -> Body:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": _SOURCE["name"], "namespace": _NAMESPACE},
        "spec": {
            "interval": "5m",
            "url": repository.url,
            "ref": {"branch": repository.revision},
        },
    }


def _kustomization(environment: Environment, release: Release, repository: Repository) -> Body:
    folder = repository.within(FOLDER, environment.file_name, release.name)
    spec: Body = {
        "interval": "10m",
        "path": f"./{folder}",
        "prune": True,
        "wait": True,
        "timeout": "10m",
        "sourceRef": dict(_SOURCE),
    }
    if release.after:
        spec["dependsOn"] = [{"name": release.after}]
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": release.name, "namespace": _NAMESPACE},
        "spec": spec,
    }


def _helm_release(release: Release, repository: Repository) -> Body:
    chart = repository.within(release.chart)
    spec: Body = {
        "interval": "10m",
        "releaseName": release.name,
        "targetNamespace": release.namespace,
        "storageNamespace": release.namespace,
        "chart": {
            "spec": {
                "chart": f"./{chart}",
                "reconcileStrategy": "Revision",
                "sourceRef": {**_SOURCE, "namespace": _NAMESPACE},
                "valuesFiles": [
                    f"./{chart}/{name}" for name in ("values.yaml", *release.values_files)
                ],
            }
        },
        "install": {"createNamespace": True, "remediation": {"retries": 3}},
        "upgrade": {"remediation": {"retries": 3, "strategy": "rollback"}},
        "driftDetection": {"mode": "enabled", "ignore": list(_IGNORED)},
    }
    if release.after:
        spec["dependsOn"] = [{"name": release.after}]
    if values := release.values(dict(KEEP)):
        spec["values"] = values
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": release.name, "namespace": _NAMESPACE},
        "spec": spec,
    }
