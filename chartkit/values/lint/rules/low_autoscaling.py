"""CK009: autoscalers that may leave too few replicas."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.charts.engine.high_availability import minimum
from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import Diagnostic, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule


class LowAutoscaling(Rule):
    id = "CK009"
    what = (
        "An autoscaler whose minReplicas is below high availability (3 admission controllers, 2 of "
        "each other controller)."
    )
    why = (
        "With an autoscaler, the chart does not write replicas. At low load it scales down to one "
        "Pod, and draining that Pod's node stops admission."
    )
    do = "Set minReplicas to 3 for the admission controller, and to 2 for the others."
    problematic = "admissionController:\n  autoscaling: {enabled: true}\n"
    correct = "admissionController:\n  autoscaling: {enabled: true, minReplicas: 3}\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        for component, key in CONTROLLERS.items():
            scaler = mapping_at(subject.values, key, "autoscaling")
            fewest = scaler.get("minReplicas", 1)
            least = minimum(component)
            if scaler.get("enabled") is True and isinstance(fewest, int) and fewest < least:
                message = f"may scale down to {fewest}, and {least} are highly available"
                hint = f"set {key}.autoscaling.minReplicas: {least}; 'replicas' does not count "
                hint += "beside it"
                yield self.warning(message, subject.locate((key, "autoscaling", "enabled")), hint)
