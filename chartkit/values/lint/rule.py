"""The base class of the rules: an explanation, an example, checks and perhaps a fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from chartkit.documents.reader import Document
from chartkit.helm.chart_values import merge
from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import (
    Body,
    Diagnostic,
    Explanation,
    FieldPath,
    Json,
    Location,
    Resource,
    Severity,
    leaves,
    mapping_at,
)

if TYPE_CHECKING:
    from chartkit.output.yaml_tree import Path


@dataclass(frozen=True, slots=True)
class ChartValues:
    """One chart as one environment gets it.

    defaults: the chart's values.yaml; overlays: the environment's values files, the last wins;
    schema: values.schema.json, None where the chart has none; apis: API versions of custom
    resources to whether the environment has them; resources: what Helm rendered, empty before.
    """

    defaults: Document
    overlays: tuple[Document, ...]
    schema: Body | None
    apis: Mapping[str, bool]
    resources: Sequence[Resource] = ()

    @property
    def values(self) -> Body:
        """The values as Helm gives them to templates: overlays laid on, null keys deleted."""
        merged: Body = self.defaults.body or {}
        for overlay in self.overlays:
            merged = merge(merged, overlay.body or {})
        return without_nulls(merged)

    def locate(self, path: Sequence[str | int]) -> Location:
        """The place that decides a value: the last file that has the whole path, or most of it."""
        best = self.defaults.locate(*path)
        for document in self.overlays:
            location = document.locate(*path)
            if location.path.count("/") >= best.path.count("/"):
                best = location
        return best


def without_nulls(values: Mapping[str, Any]) -> Body:
    """The values without the keys that are null, which Helm deletes."""
    return {
        key: without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


class Rule:
    """A mistake that people make in values.

    id, what, why, do: see `Explanation`. problematic: values that the rule reports; correct: values
    that it does not; example_chart: the values.yaml of the chart that both are for, empty for
    Kyverno's. fixes: what `values lint --fix` changes; empty where no fix is safe.
    """

    id: ClassVar[str]
    what: ClassVar[str]
    why: ClassVar[str]
    do: ClassVar[str]
    problematic: ClassVar[str]
    correct: ClassVar[str]
    example_chart: ClassVar[str] = ""
    fixes: ClassVar[str] = ""

    def check_values(self, _: ChartValues) -> Iterable[Diagnostic]:
        """Return what is wrong with the values alone, before Helm renders."""
        return ()

    def check_refused(self, _: ChartValues) -> Iterable[Diagnostic]:
        """Return what the engine's templates refuse, with the place that they cannot name."""
        return ()

    def check_rendered(self, _: ChartValues) -> Iterable[Diagnostic]:
        """Return what is wrong with the objects that Helm rendered."""
        return ()

    def moves(self, values: Body, defaults: Body) -> dict[FieldPath, Path]:
        """Return the paths of what a fix moves, each with its new path.

        defaults: the chart's own values. A fix moves only what has no effect where it is.
        """
        raise NotImplementedError

    def error(self, message: str, location: Location, hint: str) -> Diagnostic:
        """Return an error of this rule."""
        return Diagnostic(self.id, Severity.ERROR, message, location, hint)

    def warning(self, message: str, location: Location, hint: str) -> Diagnostic:
        """Return a warning of this rule."""
        return Diagnostic(self.id, Severity.WARNING, message, location, hint)

    @property
    def explanation(self) -> Explanation:
        """The meaning of the rule's id."""
        example = (self.problematic, self.correct)
        return Explanation(self.id, self.what, self.why, self.do, self.fixes, example)


def metrics_services(subject: ChartValues, kind: str) -> Iterator[tuple[str, Body]]:
    """Yield the keys of the controllers whose metrics Service has a type, with its values."""
    for key in CONTROLLERS.values():
        service = mapping_at(subject.values, key, "metricsService")
        if service.get("type") == kind and service.get("create") is not False:
            yield key, service


_WITH_NODE_PORTS = frozenset({"NodePort", "LoadBalancer"})


def node_ports(subject: ChartValues) -> Iterator[tuple[Resource, Body]]:
    """Yield each Service with each of its ports that has a node port."""
    for resource in subject.resources:
        spec = resource.body.get("spec")
        if resource.kind != "Service" or not isinstance(spec, dict):
            continue
        if str(spec.get("type")) not in _WITH_NODE_PORTS:
            continue
        ports = spec.get("ports")
        for port in ports if isinstance(ports, list) else ():
            if isinstance(port, dict) and port.get("nodePort"):
                yield resource, port


def place_of(subject: ChartValues, number: Json, service: Resource, occurrence: int) -> Location:
    """Return where the values set a port for the nth time, or else the template's place."""
    paths = [
        path
        for path, value in leaves(subject.values)
        if value == number and path and str(path[-1]).lower().endswith("nodeport")
    ]
    if not paths:
        return service.location
    return subject.locate(paths[min(occurrence, len(paths) - 1)])
