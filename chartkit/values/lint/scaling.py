"""Checks of the number of replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.charts.engine.high_availability import (
    ONE_OR_THREE,
    RULE_TWO_ADMISSION,
    TWO_REPLICAS,
    minimum,
)
from chartkit.kyverno.controllers import ADMISSION, CONTROLLERS
from chartkit.model import Diagnostic, Severity
from chartkit.values.lint.subject import Subject, mapping

SCALER_MINIMUM: Final = "CK009"


def scaler_below_minimum(subject: Subject) -> Iterator[Diagnostic]:
    """CK009: an autoscaler that may leave fewer replicas than high availability needs."""
    for component, key in CONTROLLERS.items():
        scaler = mapping(mapping(subject.values, key), "autoscaling")
        fewest = scaler.get("minReplicas", 1)
        least = minimum(component)
        if scaler.get("enabled") is True and isinstance(fewest, int) and fewest < least:
            message = f"may scale down to {fewest}, and {least} are highly available"
            hint = (
                f"set {key}.autoscaling.minReplicas: {least}; 'replicas' does not count beside it"
            )
            place = subject.locate((key, "autoscaling", "enabled"))
            yield Diagnostic(SCALER_MINIMUM, Severity.WARNING, message, place, hint)


def two_admission_replicas(subject: Subject) -> Iterator[Diagnostic]:
    """CK112: two admission controllers, which the engine's chart refuses by itself, too."""
    key = CONTROLLERS[ADMISSION]
    values = mapping(subject.values, key)
    scaler = mapping(values, "autoscaling")
    path = ("autoscaling", "minReplicas") if scaler.get("enabled") is True else ("replicas",)
    count = (scaler if len(path) > 1 else values).get(path[-1])
    if count == 2 and not isinstance(count, bool):
        place = subject.locate((key, *path))
        name = ".".join((key, *path))
        hint = f"set {name}: {ONE_OR_THREE}"
        yield Diagnostic(RULE_TWO_ADMISSION, Severity.ERROR, TWO_REPLICAS, place, hint)
