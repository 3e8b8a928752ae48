"""The plan of a generated chart: its files, the policies that they carry, and what Chart.yaml and
README.md say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chartkit import bundled
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.kyverno import releases
from chartkit.library.policies import LibraryPolicy
from chartkit.library.profiles import Selection
from chartkit.library.templating import render_text
from chartkit.model import Body, Resource, same
from chartkit.output.write import GeneratedChart
from chartkit.project.project import ChartMetadata

ENGINE: Final = "kyverno"
POLICIES: Final = "kyverno-policies"
REPORTER: Final = "policy-reporter"
"""Upstream's alone: where it is not vendored, its values files are written."""
NAMES: Final[tuple[str, ...]] = (ENGINE, POLICIES, REPORTER)
"""The charts that render writes, in the order in which they are installed."""
ALLOWED: Final[Body] = {"allowUnsupportedKubernetes": True}
"""The `global` values of an environment whose pair of versions is accepted and not supported."""
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
README_FILE: Final = "README.md"
_SOURCES: Final = bundled.chart_source_dir(ENGINE).parent


@dataclass(frozen=True, slots=True)
class ChartPlan(GeneratedChart):
    """One chart as it is to be written.

    policies: those that it carries, None where they are not of libraries that chartkit reads;
    resolved: the policies and settings of each environment, by its name; cluster_policies: those
    that come as ClusterPolicy or Policy, at their defaults.
    """

    policies: tuple[LibraryPolicy, ...] | None = field(default=None, repr=False)
    resolved: Mapping[str, Selection] = field(default_factory=dict, repr=False)
    cluster_policies: Mapping[str, tuple[Resource, ...]] = field(default_factory=dict, repr=False)


def values_file(name: str) -> str:
    """Return the name of the values file of an environment or a cluster (`prd/east`)."""
    return f"values_{name.replace('/', '_')}.yaml"


def layered(values: Mapping[str, Body]) -> Mapping[str, Body]:
    """Return the contents of each environment's and cluster's values file; values: all of them by
    the name of the environment or cluster."""
    groups: dict[str, list[Body]] = {}
    for name, body in values.items():
        groups.setdefault(name.partition("/")[0], []).append(body)
    files: dict[str, Body] = {}
    for name, body in values.items():
        group = name.partition("/")[0]
        if group == name:
            files[name] = body
        else:
            shared = files.setdefault(group, common(groups[group]))
            files[name] = difference(body, shared)
    return files


def member(name: str, names: Mapping[str, object]) -> str:
    """Return the first of some environments and clusters that a values file is about."""
    return next(key for key in names if name in (key, key.partition("/")[0]))


def common(bodies: Sequence[Body]) -> Body:
    """Return the entries that values have in common, key by key."""
    first, *others = bodies
    shared: Body = {}
    for key, value in first.items():
        if not all(key in other for other in others):
            continue
        sides = [other[key] for other in others]
        if isinstance(value, dict) and all(isinstance(side, dict) for side in sides):
            inner = common([value, *sides])
            if inner or all(side == value for side in sides):
                shared[key] = inner
        elif all(side == value for side in sides):
            shared[key] = value
    return shared


def difference(own: Body, base: Body) -> Body:
    """Return the values that turn `base` into `own` when laid over it; null removes a key."""
    changed: Body = {key: None for key in base if key not in own}
    for key, value in own.items():
        if key not in base:
            changed[key] = value
        elif isinstance(value, dict) and isinstance(base[key], dict):
            inner = difference(value, base[key])
            if inner:
                changed[key] = inner
        elif not same(value, base[key]):
            changed[key] = value
    return changed


def chart_version(metadata: ChartMetadata) -> str:
    """Return the version of the project's charts: its own, or the version of Kyverno's chart."""
    return metadata.version or releases.current().chart_version


def chart_fields(chart: str, metadata: ChartMetadata) -> str:
    """Return the fields of Chart.yaml after `keywords`, as YAML."""
    return dump_yaml({**_DEFAULTS[chart], **metadata.fields})


def chart_annotations(chart: str, annotations: Body) -> str:
    """Return the field `annotations` of Chart.yaml, as YAML."""
    return dump_yaml({"annotations": {**_ANNOTATIONS[chart], **annotations}})


def page(chart: str, template: str, context: Mapping[str, Any]) -> str:
    """Return a page about a chart; template: among the chart's sources."""
    path = _SOURCES / chart / template
    given = {"name": chart, **context}
    return render_text(path.read_text("utf-8"), given, str(path), _SOURCES)
