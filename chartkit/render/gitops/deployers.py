"""The deployers by name: the files that Argo CD, Flux, Helmfile and Terraform need of a project."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from chartkit.documents.yaml_dump import dump_documents, dump_yaml
from chartkit.model import Body
from chartkit.output.write import Tree
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.gitops.checks import HEADER, KEEP, Release, Repository, releases
from chartkit.render.model import GITOPS

_ARGOCD: Final = "argocd"
_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_DEFINITIONS: Final = {**KEEP, _OPTIONS: "ServerSideApply=true,Prune=false,Delete=false"}
_ARGOCD_IGNORED: Final[Sequence[Body]] = (
    *(
        {
            "group": "admissionregistration.k8s.io",
            "kind": kind,
            "jqPathExpressions": [
                ".webhooks[]?.clientConfig.caBundle",
                ".webhooks[]?.rules",
                ".webhooks[]?.matchConditions",
            ],
        }
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ),
    {
        "group": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "jqPathExpressions": ["select(.aggregationRule != null) | .rules"],
    },
)
"""Fields that Kyverno and Kubernetes write themselves."""
_NOTE: Final = """\
# Each destination is a cluster by the name under which Argo CD has it.
# Argo CD runs no hook of Helm before it deletes: `chartkit uninstall ENV` removes Kyverno with its
# webhooks, which would refuse requests otherwise that nothing answers.
"""
_PATCH: Final = """\
spec:
  source:
    helm:
      valueFiles: {{ toJson .valueFiles }}
"""
_FLUX: Final = "flux-system"
_SOURCE: Final = {"kind": "GitRepository", "name": "kyverno"}
_FLUX_IGNORED: Final[Sequence[Body]] = (
    {
        "paths": ["/rules"],
        "target": {
            "group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "kyverno:.*",
        },
    },
    {"paths": ["/webhooks"], "target": {"group": "admissionregistration.k8s.io"}},
)
"""Fields that Kyverno and Kubernetes write themselves: rules of aggregated roles, webhooks."""
FOLDER: Final = "gitops/flux"
_HELMFILE_UP: Final = "../.."
"""The path from the folder of the files to the project's folder."""
_TERRAFORM_UP: Final = "${path.module}/../../.."
"""The path from the folder of the files to the project's folder."""
_PROVIDERS: Final = """\
terraform {
  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = ">= 2.12"
    }
  }
}
"""


def argocd_files(project: Project, repository: Repository) -> Mapping[str, str]:
    """Return the files by name: an ApplicationSet for each chart."""
    by_chart: dict[str, list[tuple[Environment, Release]]] = {}
    for environment in project.environments.values():
        for release in releases(project, environment):
            by_chart.setdefault(release.name, []).append((environment, release))
    return {
        f"{name}.yaml": HEADER + _NOTE + dump_yaml(_application_set(name, pairs, repository))
        for name, pairs in by_chart.items()
    }


def _application_set(
    name: str, installed: Sequence[tuple[Environment, Release]], repository: Repository
) -> Body:
    _, first = installed[0]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {
            "name": name,
            "namespace": _ARGOCD,
            "annotations": {"argocd.argoproj.io/sync-wave": _wave(first)},
        },
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [{"list": {"elements": [_element(*pair) for pair in installed]}}],
            "syncPolicy": {"preserveResourcesOnDeletion": True},
            "template": _application(first, repository),
            "templatePatch": _PATCH,
        },
    }


def _wave(release: Release) -> str:
    return "0" if release.is_engine else "1"


def _element(environment: Environment, release: Release) -> Body:
    name = environment.file_name.replace("_", "-")
    return {"environment": name, "destination": name, "valueFiles": list(release.values_files)}


def _application(release: Release, repository: Repository) -> Body:
    values = release.values(_DEFINITIONS)
    helm: Body = {"releaseName": release.name}
    return {
        "metadata": {
            "name": f"{release.name}-{{{{ .environment }}}}",
            "annotations": {
                "argocd.argoproj.io/sync-wave": _wave(release),
                "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
            },
        },
        "spec": {
            "project": "default",
            "source": {
                "repoURL": repository.url,
                "targetRevision": repository.revision,
                "path": repository.within(release.chart),
                "helm": {**helm, "valuesObject": values} if values else helm,
            },
            "destination": {"name": "{{ .destination }}", "namespace": release.namespace},
            "ignoreDifferences": list(_ARGOCD_IGNORED),
            "syncPolicy": _sync_policy(release),
        },
    }


def _sync_policy(release: Release) -> Body:
    """Return how an Application is synchronized; policies are tried again until the definitions
    are served and Kyverno's webhooks answer."""
    options = ["CreateNamespace=true", "ServerSideApply=true", "RespectIgnoreDifferences=true"]
    if not release.is_engine:
        options.append("SkipDryRunOnMissingResource=true")
    return {
        "automated": {"prune": True, "selfHeal": True},
        "syncOptions": options,
        "retry": {"limit": 10, "backoff": {"duration": "15s", "factor": 2, "maxDuration": "5m"}},
    }


def flux_files(project: Project, repository: Repository) -> Mapping[str, str]:
    """Return the files by path: a folder for each environment or cluster."""
    files: dict[str, str] = {}
    for environment in project.environments.values():
        for name, text in _environment(project, environment, repository):
            files[f"{environment.file_name}/{name}"] = HEADER + text
    return files


def _environment(
    project: Project, environment: Environment, repository: Repository
) -> Iterator[tuple[str, str]]:
    installed = releases(project, environment)
    ordered = [_kustomization(environment, release, repository) for release in installed]
    yield "flux.yaml", dump_documents([_repository(repository), *ordered])
    for release in installed:
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
                    "sourceRef": {**_SOURCE, "namespace": _FLUX},
                    "valuesFiles": [
                        f"./{chart}/{name}" for name in ("values.yaml", *release.values_files)
                    ],
                }
            },
            "install": {"createNamespace": True, "remediation": {"retries": 3}},
            "upgrade": {"remediation": {"retries": 3, "strategy": "rollback"}},
            "driftDetection": {"mode": "enabled", "ignore": list(_FLUX_IGNORED)},
        }
        if release.after:
            spec["dependsOn"] = [{"name": release.after}]
        if values := release.values(dict(KEEP)):
            spec["values"] = values
        helm_release = {
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": release.name, "namespace": _FLUX},
            "spec": spec,
        }
        yield f"{release.name}/release.yaml", dump_yaml(helm_release)


def _repository(repository: Repository) -> Body:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": _SOURCE["name"], "namespace": _FLUX},
        "spec": {"interval": "5m", "url": repository.url, "ref": {"branch": repository.revision}},
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
        "metadata": {"name": release.name, "namespace": _FLUX},
        "spec": spec,
    }


def helmfile_files(project: Project, _repository: Repository) -> Mapping[str, str]:
    """Return the files by name: one for each environment or cluster."""
    return {
        f"{environment.file_name}.yaml": HEADER
        + dump_yaml(
            {
                "helmDefaults": {
                    "kubeContext": environment.file_name,
                    "createNamespace": True,
                    "wait": True,
                    "waitForJobs": True,
                    "timeout": 600,
                },
                "releases": [_release(release) for release in releases(project, environment)],
            }
        )
        for environment in project.environments.values()
    }


def _release(release: Release) -> Body:
    folder = f"{_HELMFILE_UP}/{release.chart}"
    values: list[str | Body] = [f"{folder}/{name}" for name in release.values_files]
    if own := release.values(dict(KEEP)):
        values.append(own)
    body: Body = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": folder,
        "values": values,
    }
    if release.after:
        body |= {
            "needs": [f"{release.namespace}/{release.after}"],
            "disableValidationOnInstall": True,
        }
    return body


def terraform_files(project: Project, _repository: Repository) -> Mapping[str, str]:
    """Return the files by path: one for each environment or cluster."""
    return {
        f"{environment.file_name}/main.tf": "\n".join(
            [HEADER + _PROVIDERS, *map(_resource, releases(project, environment))]
        )
        for environment in project.environments.values()
    }


def _resource(release: Release) -> str:
    return "\n".join(_lines(release)) + "\n"


def _lines(release: Release) -> Iterator[str]:
    yield f'resource "helm_release" "{_name(release.name)}" {{'
    facts: dict[str, str | bool | int] = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": f"{_TERRAFORM_UP}/{release.chart}",
        "create_namespace": True,
        "wait": True,
        "wait_for_jobs": True,
        "timeout": 600,
    }
    width = max(map(len, facts))
    for key, value in facts.items():
        yield f"  {key:<{width}} = {json.dumps(value)}"
    yield ""
    yield "  values = ["
    for name in release.values_files:
        yield f'    file("{_TERRAFORM_UP}/{release.chart}/{name}"),'
    if own := release.values(dict(KEEP)):
        yield "    <<-EOT"
        yield from (f"    {line}" for line in dump_yaml(own).splitlines())
        yield "    EOT"
    yield "  ]"
    if release.after:
        yield ""
        yield f"  depends_on = [helm_release.{_name(release.after)}]"
    yield "}"


def _name(release: str) -> str:
    return release.replace("-", "_")


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
