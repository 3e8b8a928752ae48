"""The webhooks that lock a cluster: those that fail closed and that nothing answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chartkit.network.cluster.client import Cluster
from chartkit.rollout.rescue.record import Opened
from chartkit.rollout.rescue.refusals import Refusal, refusals
from chartkit.rollout.rescue.webhooks import FAIL, Service, Webhook, kyverno_webhooks, unanswered


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of a cluster's admission, as far as Kyverno's webhooks go.

    webhooks: all of Kyverno's; unanswered: why nothing answers for a service; refused: what was
    refused because one of them did not answer; opening: the webhooks to set to `Ignore`; notes:
    what could not be asked.
    """

    cluster: str
    webhooks: tuple[Webhook, ...]
    unanswered: dict[Service, str]
    refused: tuple[Refusal, ...]
    opening: tuple[Webhook, ...]
    notes: tuple[str, ...]

    @property
    def is_locked(self) -> bool:
        """True if a change would open something."""
        return bool(self.opening)

    def silent(self, opened: Iterable[Opened]) -> dict[Service, str]:
        """Return why nothing answers for the services of webhooks that were opened."""
        names = {(each.kind, each.configuration, each.webhook) for each in opened}
        services = {
            each.service
            for each in self.webhooks
            if (each.kind, each.configuration, each.name) in names
        }
        return {each: reason for each, reason in self.unanswered.items() if each in services}

    def reason(self, webhook: Webhook) -> str:
        """Return why a webhook refuses everything that it covers, empty where it does not."""
        if webhook.service is not None and webhook.service in self.unanswered:
            return f"{self.unanswered[webhook.service]} for {webhook.service}"
        message = next((one.message for one in self.refused if one.webhook == webhook.name), "")
        # The end of the API server's message says why the call failed.
        return message.rpartition("failed calling webhook")[2].partition(": ")[2]


def diagnose(cluster: Cluster) -> Diagnosis:
    """Ask a cluster; raise ClusterError where its webhooks cannot be read.

    The smallest change opens the webhooks that fail closed, that nothing answers, and that are
    asked about more than Kyverno's own kinds: a webhook for policies refuses policies alone.
    """
    webhooks = kyverno_webhooks(cluster)
    services = sorted({each.service for each in webhooks if each.service}, key=str)
    silent = {each: reason for each in services if (reason := unanswered(cluster, each))}
    asked = refusals(cluster)
    names = {each.name for each in webhooks}
    refused = tuple(each for each in asked.found if each.webhook in names)
    failing = {each.webhook for each in refused}
    opening = tuple(
        each
        for each in webhooks
        if each.policy == FAIL
        and not each.is_own
        and (each.service in silent or each.name in failing)
    )
    return Diagnosis(cluster.shown, tuple(webhooks), silent, refused, opening, asked.notes)
