"""Webhook configurations for a server, by its policies, as Kyverno's controller makes them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.serve.admission.selection import Webhook, admits
from chartkit.addons.serve.admission.webhooks.cel_policies import cel_policy_webhooks
from chartkit.addons.serve.admission.webhooks.cluster_policies import cluster_policy_webhooks
from chartkit.addons.serve.admission.webhooks.webhook import PolicyWebhook, Scope
from chartkit.engine.kubernetes.kinds import ADMISSION_GROUP
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import Body

NAME: Final = "chartkit-serve"
MANAGER: Final = "chartkit-serve"
"""The field manager of what a server writes."""
MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "chartkit"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The place at which an API server finds this server.

    url: without a path, empty for a Service; authority: PEM of the certificate that it trusts.
    """

    authority: bytes
    url: str = ""
    namespace: str = ""
    service: str = ""
    port: int = 443

    def client_config(self, path: str) -> Body:
        """Return `clientConfig` of a webhook."""
        trusted = base64.b64encode(self.authority).decode("ascii")
        if self.url:
            return {"url": f"{self.url}{path}", "caBundle": trusted}
        service = {"namespace": self.namespace, "name": self.service, "port": self.port}
        return {"service": {**service, "path": path}, "caBundle": trusted}


def policy_webhooks(policies: Iterable[RunnablePolicy], scope: Scope) -> list[PolicyWebhook]:
    """Return the webhooks that policies need, by name."""
    asked = [each for each in policies if admits(each)]
    found: dict[tuple[Webhook, str], PolicyWebhook] = {}
    for side in Webhook:
        for make in (cluster_policy_webhooks, cel_policy_webhooks):
            for each in make(asked, side, scope):
                # An API server takes each name once; Kyverno gives some of them twice.
                name = each.name if (side, each.name) not in found else f"n{each.name}"
                found[side, name] = replace(each, name=name)
    return sorted(found.values(), key=lambda each: each.name)


def webhook_configurations(
    policies: Sequence[RunnablePolicy], endpoint: Endpoint, scope: Scope
) -> list[Body]:
    """Return the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration; one without
    webhooks is left out."""
    known = policy_webhooks(policies, scope)
    metadata, version = {"name": NAME, "labels": MANAGED_BY}, f"{ADMISSION_GROUP}/v1"
    return [
        {"apiVersion": version, "kind": side.value, "metadata": metadata, "webhooks": hooks}
        for side in Webhook
        if (hooks := [hook_of(each, endpoint) for each in known if each.side is side])
    ]


def hook_of(webhook: PolicyWebhook, endpoint: Endpoint) -> Body:
    """Return a webhook as a configuration has it."""
    return {
        "name": webhook.name,
        "clientConfig": endpoint.client_config(webhook.path),
        "rules": webhook.rules,
        "failurePolicy": webhook.failure,
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": webhook.namespaces,
        "objectSelector": webhook.objects,
        **webhook.settings,
    }
