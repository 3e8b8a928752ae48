"""Argo CD: an ApplicationSet for each chart over the environments and their clusters.

Source of the behaviour: Argo CD's documentation of sync options, diffing and Helm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.gitops.checks import HEADER, KEEP, Release, Repository, releases

_NAMESPACE: Final = "argocd"
_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_DEFINITIONS: Final = {**KEEP, _OPTIONS: "ServerSideApply=true,Prune=false,Delete=false"}
_IGNORED: Final[Sequence[Body]] = (
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


def files(project: Project, repository: Repository) -> Mapping[str, str]:
    """Return the files by name: an ApplicationSet for each chart."""
    found: dict[str, list[tuple[Environment, Release]]] = {}
    for environment in project.environments.values():
        for release in releases(project, environment):
            found.setdefault(release.name, []).append((environment, release))
    return {
        f"{name}.yaml": HEADER + _NOTE + dump_yaml(_application_set(name, each, repository))
        for name, each in found.items()
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
            "namespace": _NAMESPACE,
            "annotations": {"argocd.argoproj.io/sync-wave": _wave(first)},
        },
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [{"list": {"elements": [_element(*each) for each in installed]}}],
            "syncPolicy": {"preserveResourcesOnDeletion": True},
            "template": _application(first, repository),
            "templatePatch": _PATCH,
        },
    }


_PATCH: Final = """\
spec:
  source:
    helm:
      valueFiles: {{ toJson .valueFiles }}
"""


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
            "ignoreDifferences": list(_IGNORED),
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
