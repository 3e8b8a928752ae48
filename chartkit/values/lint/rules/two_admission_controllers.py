"""CK112: two admission controllers."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.charts.engine.high_availability import (
    ONE_OR_THREE,
    RULE_TWO_ADMISSION,
    TWO_REPLICAS,
)
from chartkit.kyverno.controllers import ADMISSION, CONTROLLERS
from chartkit.model import Diagnostic, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule


class TwoAdmissionControllers(Rule):
    id = RULE_TWO_ADMISSION
    what = "Two admission controllers."
    why = (
        "They elect a leader, and two have no majority while one is drained: they cost more than "
        "one and are no safer."
    )
    do = "Run three, or one where high availability is not needed."
    problematic = "admissionController:\n  replicas: 2\n"
    correct = "admissionController:\n  replicas: 3\n"

    def check_refused(self, subject: ChartValues) -> Iterator[Diagnostic]:
        key = CONTROLLERS[ADMISSION]
        values = mapping_at(subject.values, key)
        scaler = mapping_at(values, "autoscaling")
        path = ("autoscaling", "minReplicas") if scaler.get("enabled") is True else ("replicas",)
        count = (scaler if len(path) > 1 else values).get(path[-1])
        if count == 2 and not isinstance(count, bool):
            hint = f"set {'.'.join((key, *path))}: {ONE_OR_THREE}"
            yield self.error(TWO_REPLICAS, subject.locate((key, *path)), hint)
