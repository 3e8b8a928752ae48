"""The webhook configurations of a server in a cluster: there as long as it answers."""

from __future__ import annotations

import base64
import http.client
import os
import signal
import ssl
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.serve.admission.judge import PolicyReloader, Source
from chartkit.addons.serve.admission.limits import ServerSettings
from chartkit.addons.serve.admission.selection import Served, Webhook, admits
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.addons.serve.admission.webhooks import (
    PolicyWebhook,
    Scope,
    cel_policy_webhooks,
    cluster_policy_webhooks,
)
from chartkit.engine.kubernetes.kinds import ADMISSION_GROUP
from chartkit.engine.policies import RunnablePolicy
from chartkit.errors import Bugs, ChartkitError
from chartkit.model import Body, Location
from chartkit.network.cluster.client import Cluster

NAME: Final = "chartkit-serve"
MANAGER: Final = "chartkit-serve"
"""The field manager of what a server writes."""
MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "chartkit"}
_PATH: Final = f"/apis/{ADMISSION_GROUP}/v1/"
_PAUSE: Final = 0.1
_RETRY: Final = 5.0
_LONGEST_END: Final = 5.0
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The place at which an API server finds this server. url: without a path, empty for a Service;
    authority: PEM of the certificate that it trusts."""

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
    asked = [policy for policy in policies if admits(policy)]
    webhooks: dict[tuple[Webhook, str], PolicyWebhook] = {}
    for side in Webhook:
        for make in (cluster_policy_webhooks, cel_policy_webhooks):
            for webhook in make(asked, side, scope):
                # An API server takes each name once; Kyverno gives some of them twice.
                name = webhook.name if (side, webhook.name) not in webhooks else f"n{webhook.name}"
                webhooks[side, name] = replace(webhook, name=name)
    return sorted(webhooks.values(), key=lambda policy_webhook: policy_webhook.name)


def webhook_configurations(
    policies: Sequence[RunnablePolicy], endpoint: Endpoint, scope: Scope
) -> list[Body]:
    """Return the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration; one without
    webhooks is left out."""
    webhooks = policy_webhooks(policies, scope)
    metadata, version = {"name": NAME, "labels": MANAGED_BY}, f"{ADMISSION_GROUP}/v1"
    return [
        {"apiVersion": version, "kind": side.value, "metadata": metadata, "webhooks": hooks}
        for side in Webhook
        if (hooks := [hook_of(webhook, endpoint) for webhook in webhooks if webhook.side is side])
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


class Registration:
    """Applies webhook configurations once the server answers, again when policies change, and
    deletes them before it ends: an API server would refuse objects for one that is gone."""

    def __init__(
        self, cluster: Cluster, endpoint: Endpoint, scope: Scope, settings: ServerSettings, log: Log
    ) -> None:
        self._cluster = cluster
        self._endpoint = endpoint
        self._scope = scope
        self._settings = settings
        self._log = log
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._reloader: PolicyReloader | None = None
        self._is_behind = False
        self.failure: ChartkitError | OSError | None = None

    def begin(self, source: Source) -> None:
        """Apply them in a thread of its own, and look for changes of the policies."""
        threading.Thread(target=self._run, args=(source,), name="webhooks", daemon=True).start()

    def _run(self, source: Source) -> None:
        try:
            with Bugs(Location("<webhooks>")):
                reloader = PolicyReloader(source, self._log, self._settings.poll, self._reloaded)
                self._reloader = reloader
                while not self._answers():
                    if self._ending.wait(_PAUSE):
                        return
                self._apply(reloader.served)
        except (ChartkitError, OSError) as error:
            self.failure = error
            os.kill(os.getpid(), signal.SIGTERM)
            return
        reloader.start()
        while not self._ending.wait(_RETRY):
            if self._is_behind:
                self._reloaded(is_used=True)

    def _reloaded(self, is_used: bool) -> None:
        if is_used and self._reloader is not None:
            guard = self._log.guarded("webhooks", "webhooks not updated: they are tried again")
            with guard:
                self._apply(self._reloader.served)
            self._is_behind = guard.is_failed

    def _apply(self, served: Served) -> None:
        scope = replace(self._scope, names=served.names)
        configurations = webhook_configurations(served.policies, self._endpoint, scope)
        with self._lock:
            if self._ending.is_set():
                return
            there = {body["kind"] for body in configurations}
            for body in configurations:
                self._cluster.apply(_path(body["kind"]), body, MANAGER)
            for webhook in Webhook:
                if webhook.value not in there:
                    self._cluster.remove(_path(webhook.value))
        names = [hook["name"] for body in configurations for hook in body["webhooks"]]
        self._log.info("webhooks applied", cluster=self._cluster.shown, webhooks=names)

    def end(self, longest: float = _LONGEST_END) -> None:
        """Delete them; longest: seconds to wait for it."""
        if self._ending.is_set():
            return
        self._ending.set()
        if self._reloader is not None:
            self._reloader.stop()
        thread = threading.Thread(target=self._delete, name="webhooks", daemon=True)
        thread.start()
        thread.join(longest)
        if thread.is_alive():
            self._log.error("webhooks may be left in the cluster: it does not answer")

    def _delete(self) -> None:
        guard = self._log.guarded("webhooks", "webhooks are left in the cluster")
        with self._lock, guard:
            for webhook in Webhook:
                self._cluster.remove(_path(webhook.value))
        if not guard.is_failed:
            self._log.info("webhooks deleted", cluster=self._cluster.shown)

    def _answers(self) -> bool:
        """Report whether the server is ready, by its own address."""
        context = ssl.create_default_context()
        # Its certificate need not be for the address; nothing is sent that matters.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        host = _ANYWHERE.get(self._settings.host, self._settings.host)
        client = http.client.HTTPSConnection(host, self._settings.port, timeout=2, context=context)
        try:
            client.request("GET", "/readyz")
            return client.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            client.close()


def _path(kind: str) -> str:
    return f"{_PATH}{kind.lower()}s/{NAME}"
