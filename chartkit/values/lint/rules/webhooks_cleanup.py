"""CK014: webhooks that remain when the release is deleted."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Diagnostic, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule


class WebhooksCleanup(Rule):
    id = "CK014"
    what = "Disabled webhooksCleanup."
    why = (
        "Deleting the release leaves the webhooks of a Kyverno that is gone. With failurePolicy "
        "Fail they refuse every request that they see."
    )
    do = (
        "Keep it enabled. With Argo CD or Flux, delete with `chartkit uninstall`, or delete the "
        "webhook configurations by hand."
    )
    problematic = "webhooksCleanup:\n  enabled: false\n"
    correct = "webhooksCleanup:\n  enabled: true\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        if mapping_at(subject.values, "webhooksCleanup").get("enabled") is False:
            message = "deleting the release leaves Kyverno's webhooks, which then refuse every "
            message += "request"
            hint = "set webhooksCleanup.enabled: true, or use `chartkit uninstall`"
            yield self.warning(message, subject.locate(("webhooksCleanup", "enabled")), hint)
