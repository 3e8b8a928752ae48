"""Checks of the number of replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.chart.ha import CONTROLLERS, minimum
from chartkit.lint.subject import Subject, mapping
from chartkit.model import Diagnostic, Severity

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
