"""The tool that generated an object, by the labels and annotations that it left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chartkit.model import Body, Resource, mapping_at, mappings_at


class Tool(StrEnum):
    """A program that generates objects."""

    CHART = "chart"
    ARGO_CD = "argocd"
    FLUX = "flux"
    HELM = "helm"
    KYVERNO = "kyverno"
    OWNER = "owner"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Origin:
    """The tool that generated an object.

    name: of the Argo CD application, Flux object, Helm release, policy or owner, or the folder of a
    chart; namespace: of that, empty where it is not known; kind: of a Flux object or an owner;
    chart: `NAME-VERSION` of a Helm chart, empty for none.
    """

    tool: Tool
    name: str = ""
    namespace: str = ""
    kind: str = ""
    chart: str = ""

    def __str__(self) -> str:
        if self.tool not in _TITLES:
            return ""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        chart = f"(chart {self.chart})" if self.chart else ""
        return " ".join(filter(None, (_TITLES[self.tool], self.kind, name, chart)))

    def as_json(self) -> Body:
        """Return the origin for programs."""
        return {
            "tool": str(self.tool),
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "chart": self.chart,
        }


_TITLES: Final = {
    Tool.CHART: "chart",
    Tool.ARGO_CD: "Argo CD application",
    Tool.FLUX: "Flux",
    Tool.HELM: "Helm release",
    Tool.KYVERNO: "Kyverno's policy",
    Tool.OWNER: "owner",
}
_Marks = Mapping[str, str]
_CHART: Final = "helm.sh/chart"
_TRACKING: Final = "argocd.argoproj.io/tracking-id"
_INSTANCE: Final = "argocd.argoproj.io/instance"
_FLUX: Final = {
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "HelmRelease": "helm.toolkit.fluxcd.io",
}


def origin_of(resource: Resource, chart: str = "") -> Origin:
    """Return what generated an object; chart: the folder that it was rendered from, if any.

    The outermost tool counts: Flux and Argo CD run Helm themselves.
    """
    if chart:
        return Origin(Tool.CHART, chart)
    metadata = mapping_at(resource.body, "metadata")
    labels, annotations = _marks(metadata, "labels"), _marks(metadata, "annotations")
    for find in _FINDERS:
        if origin := find(labels, annotations):
            return origin
    for owner in mappings_at(metadata, "ownerReferences"):
        kind, name = (str(owner.get(key) or "") for key in ("kind", "name"))
        return Origin(Tool.OWNER, name, kind=kind)
    return Origin(Tool.NONE)


def _marks(metadata: Body, key: str) -> _Marks:
    return {k: v for k, v in mapping_at(metadata, key).items() if isinstance(v, str)}


def _kyverno(labels: _Marks, _annotations: _Marks) -> Origin | None:
    name = labels.get("generate.kyverno.io/policy-name", "")
    namespace = labels.get("generate.kyverno.io/policy-namespace", "")
    return Origin(Tool.KYVERNO, name, namespace) if name else None


def _flux(labels: _Marks, _annotations: _Marks) -> Origin | None:
    for kind, group in _FLUX.items():
        if name := labels.get(f"{group}/name"):
            namespace = labels.get(f"{group}/namespace", "")
            return Origin(Tool.FLUX, name, namespace, kind, labels.get(_CHART, ""))
    return None


def _argo_cd(labels: _Marks, annotations: _Marks) -> Origin | None:
    """Return the application of an object: `APPLICATION:GROUP/KIND:NAMESPACE/NAME`, where one of
    another namespace is `NAMESPACE_NAME`."""
    name = annotations.get(_TRACKING, "").partition(":")[0] or labels.get(_INSTANCE, "")
    namespace, _, bare = name.rpartition("_")
    chart = labels.get(_CHART, "")
    return Origin(Tool.ARGO_CD, bare, namespace, chart=chart) if name else None


def _helm(labels: _Marks, annotations: _Marks) -> Origin | None:
    name = annotations.get("meta.helm.sh/release-name", "")
    chart = labels.get(_CHART, "")
    if not name and not chart and labels.get("app.kubernetes.io/managed-by") != "Helm":
        return None
    namespace = annotations.get("meta.helm.sh/release-namespace", "")
    return Origin(Tool.HELM, name, namespace, chart=chart)


_FINDERS: Final[tuple[Callable[[_Marks, _Marks], Origin | None], ...]] = (
    _kyverno,
    _flux,
    _argo_cd,
    _helm,
)
