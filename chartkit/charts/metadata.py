"""The fields of Chart.yaml that people and registries read."""

from __future__ import annotations

from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.kyverno import releases
from chartkit.model import Body
from chartkit.project.chart_metadata import ChartMetadata

_ICON = "https://github.com/kyverno/kyverno/raw/main/img/logo.png"
_DEFAULTS: dict[str, Body] = {
    ENGINE: {
        "home": "https://kyverno.io/",
        "icon": _ICON,
        "sources": ["https://github.com/kyverno/kyverno"],
    },
    POLICIES: {"home": "https://kyverno.io/", "icon": _ICON},
}
_ANNOTATIONS: dict[str, Body] = {
    ENGINE: {
        "artifacthub.io/category": "security",
        "artifacthub.io/license": "Apache-2.0",
        "artifacthub.io/operator": "true",
    },
    POLICIES: {"artifacthub.io/category": "security"},
}
"""As Artifact Hub reads them: https://artifacthub.io/docs/topics/annotations/helm/."""


def chart_version(metadata: ChartMetadata) -> str:
    """Return the version of the project's charts: its own, or that of Kyverno's chart."""
    return metadata.version or releases.current().chart_version


def chart_fields(chart: str, metadata: ChartMetadata) -> str:
    """Return the fields of Chart.yaml after `keywords`, as YAML."""
    return dump_yaml({**_DEFAULTS[chart], **metadata.fields})


def chart_annotations(chart: str, annotations: Body) -> str:
    """Return the field `annotations` of Chart.yaml, as YAML."""
    return dump_yaml({"annotations": {**_ANNOTATIONS[chart], **annotations}})
