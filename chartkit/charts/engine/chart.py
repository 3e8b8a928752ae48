"""The engine chart: Kyverno itself, with the values people of the upstream chart already have."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from chartkit.charts.engine import values as engine_values
from chartkit.charts.engine.controllers import SOURCE, describe
from chartkit.charts.engine.monitoring import DASHBOARD_FILE, dashboard, monitoring_values
from chartkit.charts.plan import (
    ENGINE,
    README_FILE,
    ChartPlan,
    chart_annotations,
    chart_fields,
    chart_version,
    layered,
    page,
    values_file,
)
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.helm.chart_values import merge
from chartkit.kyverno import releases
from chartkit.kyverno.controllers import ADMISSION, CONTROLLERS
from chartkit.kyverno.matrix import CLUSTERS_ANNOTATION
from chartkit.kyverno.versions import Version, parse_version
from chartkit.library.templating import SUFFIX, as_json, render_text
from chartkit.model import Body, Json
from chartkit.project.monitoring import Monitoring
from chartkit.project.project import UPSTREAM, ChartMetadata
from chartkit.schemas.compact import Schema, flattened, type_library
from chartkit.schemas.crds import OBJECT_FIELDS, Kind, kinds, later_fields, specification

_OPEN_REPORTS = "openreports"
_HEAD = (
    "{{/* The types of the custom resource definitions, as OpenAPI schemas. Do not edit or "
    "override them: values are the interface. */}}\n"
)
_REFERENCE = re.compile(r'\{"\$ref":"(\w+)"\}')
_SINCE = "$since"
NAMESPACE = "kyverno"
"""The namespace of both charts."""
PRE_STOP_SECONDS: Final = 10
"""The seconds for which a highly available admission controller still answers after it is told to
stop, while API servers stop asking it."""
SLEEP_SINCE: Final = Version(1, 30)
"""The Kubernetes from which `preStop.sleep` is on by default."""
_MIGRATED = ("kyverno", "policies")
_TIMEOUT_COMMENT = """\
# webhookTimeout: Kyverno asks {reviews:,} access reviews while the ClusterPolicies of this
# environment are installed, which may take longer than the 10 s that its webhooks wait otherwise.
# The {seconds} s hold for all of them: where Kyverno does not answer, an object waits so long until
# failurePolicy decides. 0 is Kyverno's default.
"""
_VALUES_HEADER = (
    "The default values of Kyverno, written by chartkit render; values.schema.json checks them."
)


def crd_templates() -> dict[str, str]:
    """The templates by their path in the chart."""
    files = {"templates/crds/_types.tpl": "".join(_types())}
    groups: dict[str, list[Kind]] = {}
    for kind in kinds():
        groups.setdefault(kind.group, []).append(kind)
    for group, members in groups.items():
        context = {"kinds": members, "specification": _specification}
        files[f"templates/crds/{group}.yaml"] = _rendered(SOURCE / "definitions.yaml.j2", context)
    return files


def _types() -> Iterator[str]:
    """A named template for each type that a definition needs, in alphabetical order."""
    types = type_library()
    roots = {version.type for kind in kinds() for version in kind.versions}
    names = sorted(roots)
    wanted: list[str] = []
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.append(name)
            queue += _REFERENCE.findall(_json(flattened(types[name], types)))
    flat = {name: flattened(types[name], types) for name in wanted}
    yield _HEAD
    for name, schema in sorted(flat.items()):
        if name in roots:
            schema = {**schema, "properties": {**OBJECT_FIELDS, **schema["properties"]}}
        for path, version in later_fields().get(name, {}).items():
            schema = _marked(schema, path, parse_version(version, "Kyverno").number)
        yield f'{{{{- define "type.{name}" }}}}{_template_text(schema)}{{{{ end }}}}\n'


def _specification(kind: Kind) -> str:
    return _template_text(specification(kind, lambda name: {"$ref": name}), "$kyverno")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _marked(schema: Schema, path: Sequence[str], number: int) -> Schema:
    """Return a schema whose field at a path has the number of the Kyverno that brings it."""
    if "items" in schema:
        return {**schema, "items": _marked(schema["items"], path, number)}
    name, *rest = path
    field = schema["properties"][name]
    marked = _marked(field, rest, number) if rest else {**field, _SINCE: number}
    return {**schema, "properties": {**schema["properties"], name: marked}}


def _template_text(value: Json, context: str = ".") -> str:
    """Return a schema as JSON, with a template for each type that it refers to, and fields that
    need a later Kyverno under a condition; context: the variable with Kyverno's number."""
    if isinstance(value, list):
        return f"[{','.join(_template_text(item, context) for item in value)}]"
    if not isinstance(value, dict):
        return _json(value)
    if set(value) == {"$ref"}:
        return f'{{{{ template "type.{value["$ref"]}" {context} }}}}'
    late = {key: part for key, part in value.items() if isinstance(part, dict) and _SINCE in part}
    text = ""
    for key, added in late.items():
        field = {name: part for name, part in added.items() if name != _SINCE}
        member = f"{_json(key)}:{_template_text(field, context)}"
        text += f" {{{{ if ge {context} {added[_SINCE]} }}}}{member},{{{{ end }}}}"
    members = (
        f"{_json(key)}:{_template_text(part, context)}"
        for key, part in value.items()
        if key not in late
    )
    return f"{{{text}{','.join(members)}}}"


@dataclass(frozen=True, slots=True)
class WebhookTimeout:
    """The seconds that Kyverno's webhooks wait, and the access reviews that need them."""

    seconds: int
    reviews: int


def plan(
    high_availability: Mapping[str, bool],
    kube_version: str,
    monitoring: Mapping[str, Monitoring] = MappingProxyType({}),
    timeouts: Mapping[str, WebhookTimeout] = MappingProxyType({}),
    metadata: ChartMetadata = UPSTREAM,
    own: Mapping[str, Body] = MappingProxyType({}),
    kyverno: Mapping[str, str] = MappingProxyType({}),
    sleeps: Collection[str] = (),
) -> ChartPlan:
    """The chart for these environments.

    high_availability: environment name to whether it must be highly available; kube_version: the
    range of Kubernetes versions for Chart.yaml, such as `>=1.33-0 <1.36-0`; monitoring: of the
    environments that are monitored; timeouts: of the environments whose policies need longer than
    Kyverno's webhooks wait by default; metadata: what the project says of its charts; own: values
    of the project's own, which go over the others; kyverno: the releases of environments that do
    not have the chart's own; sleeps: the environments whose Kubernetes knows `preStop.sleep`.
    """
    context = _context(kube_version, metadata)
    values_catalogue = engine_values.read_catalogue(context)
    files = {**_chart_files(context), **crd_templates(), DASHBOARD_FILE: dashboard()}
    files["values.schema.json"] = engine_values.schema_text(
        engine_values.values_schema(values_catalogue)
    )
    files[README_FILE] = _page("README.md.j2", values_catalogue)
    values = {"values.yaml": engine_values.values_yaml(values_catalogue, _VALUES_HEADER)}
    bodies = {
        name: merge(
            {
                **({"kyvernoVersion": kyverno[name]} if name in kyverno else {}),
                **_environment_values(
                    context,
                    available,
                    available and name in sleeps,
                    monitoring.get(name),
                    timeouts.get(name),
                ),
            },
            own.get(name, {}),
        )
        for name, available in high_availability.items()
    }
    for name, body in layered(bodies).items():
        timeout = timeouts.get(name)
        head = f"# Kyverno in the environment {name}.\n"
        if timeout:
            head += _TIMEOUT_COMMENT.format(reviews=timeout.reviews, seconds=timeout.seconds)
        values[values_file(name)] = head + (dump_yaml(body) if body else "")
    return ChartPlan(ENGINE, files, values)


def values_page() -> str:
    """docs/reference/values.md: the chart's values, every key with its meaning."""
    return _page("values/page.md.j2", catalogue())


def _page(template: str, values: engine_values.Section) -> str:
    return page(ENGINE, template, {"entries": values.entries, "json": as_json})


def catalogue() -> engine_values.Section:
    """Every value that the chart has, with its type, its default and what it is for."""
    return engine_values.read_catalogue(_context(""))


def _context(kube_version: str, metadata: ChartMetadata = UPSTREAM) -> Body:
    groups: dict[str, list[str]] = {}
    for kind in kinds():
        if kind.key != _OPEN_REPORTS:
            groups.setdefault(kind.key, []).append(kind.plural)
    return {
        **describe(),
        "name": ENGINE,
        "version": chart_version(metadata),
        "app_version": releases.current().app_version,
        "kube_version": kube_version,
        "metadata": chart_fields(ENGINE, metadata)
        + chart_annotations(ENGINE, {CLUSTERS_ANNOTATION: kube_version}),
        "crd_groups": groups,
        "migrated": [kind.name for kind in kinds() if kind.key in _MIGRATED],
    }


def _chart_files(context: Body) -> Mapping[str, str]:
    files: dict[str, str] = {}
    for path in sorted((SOURCE / "chart").rglob("*")):
        if path.is_file():
            name = path.relative_to(SOURCE / "chart").as_posix()
            files[name.removesuffix(SUFFIX)] = _rendered(path, context)
    for path in sorted((SOURCE / "controller").glob(f"[!_]*{SUFFIX}")):
        for controller in context["controllers"]:
            text = _rendered(path, {**context, "controller": controller})
            if text.strip():
                name = path.name.removesuffix(SUFFIX)
                files[f"templates/{controller['component']}/{name}"] = text
    return files


def _rendered(path: Path, context: Mapping[str, Any]) -> str:
    text = path.read_text("utf-8")
    return render_text(text, context, str(path), SOURCE) if path.suffix == SUFFIX else text


def _environment_values(
    context: Body,
    available: bool,
    sleeps: bool,
    monitoring: Monitoring | None,
    timeout: WebhookTimeout | None,
) -> Body:
    """Return the values of an environment. They say how many replicas there are even where it is
    one: Helm takes a file without values for none, and keeps those of the release before."""
    body: Body = {}
    for controller in context["controllers"]:
        many = 3 if controller["scaled"] else 2
        body[controller["key"]] = {"replicas": many if available else 1}
    container: Body = {}
    if sleeps:
        container["lifecycle"] = {"preStop": {"sleep": {"seconds": PRE_STOP_SECONDS}}}
    if timeout:
        container["extraArgs"] = {"webhookTimeout": timeout.seconds}
    if container:
        body[CONTROLLERS[ADMISSION]]["container"] = container
    if monitoring:
        for key, values in monitoring_values(monitoring, context["controllers"]).items():
            body[key] = {**body.get(key, {}), **values}
    return body
