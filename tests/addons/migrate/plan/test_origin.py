"""The tool that generated an object, by its marks."""

import pytest

from chartkit.addons.migrate.plan.origin import origin_of
from chartkit.model import Json, Resource

_HELM_LABELS = {"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "shop-1.2.0"}
_RELEASE = {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "prd"}


def _object(labels: Json = None, annotations: Json = None, owners: Json = None) -> Resource:
    metadata = {"labels": labels, "annotations": annotations, "ownerReferences": owners}
    return Resource({"kind": "ClusterPolicy", "metadata": metadata})


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (_object(), ""),
        (_object({"app.kubernetes.io/managed-by": "kubectl"}), ""),
        (_object(_HELM_LABELS, _RELEASE), "Helm release prd/shop (chart shop-1.2.0)"),
        (_object(None, _RELEASE), "Helm release prd/shop"),
        (_object(_HELM_LABELS), "Helm release (chart shop-1.2.0)"),
        (_object({"app.kubernetes.io/managed-by": "Helm"}), "Helm release"),
        (_object({"argocd.argoproj.io/instance": "apps"}), "Argo CD application apps"),
        (
            _object(
                _HELM_LABELS,
                {"argocd.argoproj.io/tracking-id": "team_apps:kyverno.io/ClusterPolicy:/p"},
            ),
            "Argo CD application team/apps (chart shop-1.2.0)",
        ),
        (
            _object(
                {
                    "kustomize.toolkit.fluxcd.io/name": "policies",
                    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
                }
            ),
            "Flux Kustomization flux-system/policies",
        ),
        (
            _object(
                {
                    **_HELM_LABELS,
                    "helm.toolkit.fluxcd.io/name": "shop",
                    "helm.toolkit.fluxcd.io/namespace": "flux-system",
                },
                _RELEASE,
            ),
            "Flux HelmRelease flux-system/shop (chart shop-1.2.0)",
        ),
        (
            _object(
                {
                    "app.kubernetes.io/managed-by": "kyverno",
                    "generate.kyverno.io/policy-name": "per-team",
                    "generate.kyverno.io/policy-namespace": "",
                }
            ),
            "Kyverno's policy per-team",
        ),
        (_object(None, None, [{"kind": "Tenant", "name": "shop"}]), "owner Tenant shop"),
        (_object("x", ["y"], "z"), ""),
        (_object({"helm.sh/chart": 3}, {"meta.helm.sh/release-name": None}), ""),
    ],
)
def test_origins(resource: Resource, expected: str) -> None:
    assert str(origin_of(resource)) == expected


def test_a_rendered_chart_is_the_origin() -> None:
    origin = origin_of(_object(_HELM_LABELS, _RELEASE), "charts/shop")
    assert str(origin) == "chart charts/shop"
    assert origin.as_json()["tool"] == "chart"
