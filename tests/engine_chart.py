"""The engine chart for tests: made once, rendered in process."""

import atexit
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.plan import ChartPlan
from chartkit.helm.render import RenderedChart, render_chart
from chartkit.model import Body, Json
from tests.files import write_files

KUBE_VERSION = "v1.35.0"
CRD = "CustomResourceDefinition"
Key = tuple[str, str]
"""Kind and name."""


@cache
def plan() -> ChartPlan:
    """The chart for a small and a highly available environment."""
    return engine_chart.plan({"dev": False, "prd": True}, ">=1.33-0 <1.36-0")


@cache
def folder() -> Path:
    """The same as a folder, written once: a render need not write it again."""
    parent = TemporaryDirectory()
    atexit.register(parent.cleanup)
    chart = Path(parent.name) / plan().name
    return write_files(chart, {**plan().files, **plan().values})


def render(values: Mapping[str, Any] | None = None) -> RenderedChart:
    """The chart as release `kyverno` in namespace `kyverno`."""
    return render_chart(
        folder(),
        [values or {}],
        release="kyverno",
        namespace="kyverno",
        kube_version=KUBE_VERSION,
        api_versions=["monitoring.coreos.com/v1"],
        shown=Path(plan().name),
    )


def objects(values: Mapping[str, Any] | None = None) -> dict[Key, Body]:
    """Every object that the chart gives for values, hooks and tests with them, by kind and name."""
    rendered = render(values)
    found = [resource.body for resource in (*rendered.resources, *rendered.hooks)]
    assert len({key(body) for body in found}) == len(found), "two objects of one name"
    return {key(body): body for body in found}


def key(body: Body) -> Key:
    """The kind and name of an object."""
    return body["kind"], body["metadata"]["name"]


def without_nulls(value: Json) -> Json:
    """The value as an API server sees it: a null field is an absent one."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


def differences(found: Json, wanted: Json, path: str = "") -> Iterator[str]:
    """The places where two values differ, as JSON pointers."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted(set(found) | set(wanted)):
            if name not in found or name not in wanted:
                yield f"{path}/{name}"
            else:
                yield from differences(found[name], wanted[name], f"{path}/{name}")
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, f"{path}/{index}")
    elif found != wanted or type(found) is not type(wanted):
        yield path
