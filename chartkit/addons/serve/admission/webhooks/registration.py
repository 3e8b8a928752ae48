"""The webhook configurations of a server in a cluster: there as long as it answers."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import threading
from dataclasses import replace
from typing import Final

from chartkit.addons.serve.admission.reloading import PolicyReloader, Source
from chartkit.addons.serve.admission.selection import Webhook
from chartkit.addons.serve.admission.served_policies import Served
from chartkit.addons.serve.admission.settings import ServerSettings
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.addons.serve.admission.webhooks.configurations import (
    MANAGER,
    NAME,
    Endpoint,
    webhook_configurations,
)
from chartkit.addons.serve.admission.webhooks.webhook import Scope
from chartkit.engine.kubernetes.kinds import ADMISSION_GROUP
from chartkit.errors import Bugs, ChartkitError
from chartkit.model import Location
from chartkit.network.cluster.client import Cluster

_PATH: Final = f"/apis/{ADMISSION_GROUP}/v1/"
_PAUSE: Final = 0.1
_RETRY: Final = 5.0
_LONGEST_END: Final = 5.0
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


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
        found = webhook_configurations(served.policies, self._endpoint, scope)
        with self._lock:
            if self._ending.is_set():
                return
            there = {each["kind"] for each in found}
            for each in found:
                self._cluster.apply(_path(each["kind"]), each, MANAGER)
            for webhook in Webhook:
                if webhook.value not in there:
                    self._cluster.remove(_path(webhook.value))
        names = [hook["name"] for each in found for hook in each["webhooks"]]
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
        """Return whether the server is ready, by its own address."""
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
