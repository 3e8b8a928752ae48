"""The engine chart: Kyverno itself, with the values people of the upstream chart already have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from chartkit.charts.engine import values as engine_values
from chartkit.charts.engine import values_schema as engine_schema
from chartkit.charts.engine.controllers import SOURCE, describe
from chartkit.charts.engine.crds import crd_templates, group_values
from chartkit.charts.engine.monitoring import DASHBOARD_FILE, dashboard, monitoring_values
from chartkit.charts.layers import layered, values_file
from chartkit.charts.metadata import chart_annotations, chart_fields, chart_version
from chartkit.charts.plan import ENGINE, ChartPlan
from chartkit.charts.readme import README_FILE, page
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.helm.chart_values import merge
from chartkit.kyverno import releases
from chartkit.kyverno.controllers import ADMISSION, CONTROLLERS
from chartkit.kyverno.matrix import CLUSTERS_ANNOTATION
from chartkit.kyverno.versions import Version
from chartkit.library.templating import SUFFIX, render_text
from chartkit.model import Body
from chartkit.project.chart_metadata import UPSTREAM, ChartMetadata
from chartkit.project.monitoring import Monitoring
from chartkit.schemas.crds import kinds

NAMESPACE = "kyverno"
"""The namespace of both charts."""
PRE_STOP_SECONDS: Final = 10
"""The seconds for which a highly available admission controller still answers after it was told to
stop, while API servers stop asking it."""
SLEEP_SINCE: Final = Version(1, 30)
"""The Kubernetes from which `preStop.sleep` is on by default."""

_MIGRATED = ("kyverno", "policies")

_ABOUT = (
    "Kyverno: its controllers, their roles, services and custom resource definitions, with the "
    "values of the upstream chart. A type that ends in `?` may be null."
)
_TIMEOUT_COMMENT = """\
# webhookTimeout: Kyverno asks {reviews:,} access reviews while the ClusterPolicies of this
# environment are installed, which may take longer than the 10 s that its webhooks wait otherwise.
# The {seconds} s hold for all of them: where Kyverno does not answer, an object waits so long until
# failurePolicy decides. 0 is Kyverno's default.
"""
_VALUES_HEADER = (
    "The default values of Kyverno, written by chartkit render; values.schema.json checks them."
)


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
    files["values.schema.json"] = engine_schema.schema_text(
        engine_schema.values_schema(values_catalogue)
    )
    files[README_FILE] = page(ENGINE, _ABOUT, engine_values.value_sections(values_catalogue))
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
    return engine_values.values_page(catalogue())


def catalogue() -> engine_values.Section:
    """Every value that the chart has, with its type, its default and what it is for."""
    return engine_values.read_catalogue(_context(""))


def _context(kube_version: str, metadata: ChartMetadata = UPSTREAM) -> Body:
    return {
        **describe(),
        "name": ENGINE,
        "version": chart_version(metadata),
        "app_version": releases.current().app_version,
        "kube_version": kube_version,
        "metadata": chart_fields(ENGINE, metadata)
        + chart_annotations(ENGINE, {CLUSTERS_ANNOTATION: kube_version}),
        "crd_groups": group_values(),
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
