"""The fields of Chart.yaml that people and registries read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.kyverno import releases
from chartkit.model import Body, Json
from chartkit.project.project import ChartMetadata

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
    """Return the version of the project's charts: its own, or the version of Kyverno's chart."""
    return metadata.version or releases.current().chart_version


def chart_fields(chart: str, metadata: ChartMetadata) -> str:
    """Return the fields of Chart.yaml after `keywords`, as YAML."""
    return dump_yaml({**_DEFAULTS[chart], **metadata.fields})


def chart_annotations(chart: str, annotations: Body) -> str:
    """Return the field `annotations` of Chart.yaml, as YAML."""
    return dump_yaml({"annotations": {**_ANNOTATIONS[chart], **annotations}})


README_FILE: Final = "README.md"
_HEAD: Final = """\
<!-- Written by chartkit render: edit chartkit.yaml or the values files instead. -->

# {name}

{about}

## Install

```sh
helm upgrade --install {name} charts/{name} --namespace kyverno --create-namespace \\
  --values charts/{name}/values_ENVIRONMENT.yaml
```

`values.yaml` has the defaults, and `values_ENVIRONMENT.yaml` what an environment changes. Templates
are not an interface: set values instead. `values.schema.json` checks them, and Helm refuses a key
that it does not know.
"""
_LONG: Final = 80


def page(name: str, about: str, sections: Iterable[str]) -> str:
    """Return README.md; about: a paragraph on the chart; sections: Markdown, each with its head."""
    return "\n".join([_HEAD.format(name=name, about=about), *sections])


def prose(text: str) -> str:
    """Return a description of the chart's own for a cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(value: Json) -> str:
    """Return a value as JSON for a cell; a pointer to values.yaml for a long one."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONG or "`" in text:
        return "see values.yaml"
    return f"`{text}`".replace("|", "\\|")
