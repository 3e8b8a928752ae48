"""The Services of the controllers' metrics."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import Body, mapping_at
from chartkit.values.lint.subject import Subject


def metrics_services(subject: Subject, kind: str) -> Iterator[tuple[str, Body]]:
    """Yield the keys of the controllers whose metrics Service has a type, with its values."""
    for key in CONTROLLERS.values():
        service = mapping_at(subject.values, key, "metricsService")
        if service.get("type") == kind and service.get("create") is not False:
            yield key, service
