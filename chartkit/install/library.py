"""Releases through Helm's library, in a thread, so that Ctrl-C ends an operation in order."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from chartkit.install.releases import MARK, DesiredRelease, Release, failure, release_of
from chartkit.install.stderr_filter import warnings_once
from chartkit.model import Body
from chartkit.network.cluster.client import Cluster

_ENDING_SECONDS: Final = 10
"""Seconds that an operation may take to end after Ctrl-C."""
_Answer = TypeVar("_Answer")
_LOOK_SECONDS: Final = 0.05
_BURST: Final = 200
_REQUESTS_A_SECOND: Final = 50
"""A release has some 80 objects, each read and written: Helm's own 5 a second take minutes."""
_DRIVERS: Final = {"secret": "secret", "config_map": "configmap"}


class LibraryReleases:
    """Helm in process, through helm-python-sdk."""

    def __init__(
        self,
        library: Any,
        cluster: Cluster,
        namespace: str,
        timeout: int,
        driver: str,
        force_conflicts: bool = False,
    ) -> None:
        """Create the port. force_conflicts: whether upgrades take over fields that another program
        wrote."""
        self._library = library
        self._force_conflicts = force_conflicts
        self._namespace = namespace
        self._timeout = timeout
        self._shown: set[str] = set()
        self._options = {
            "kubeconfig_path": cluster.kubeconfig,
            "kube_context": cluster.context or None,
            "namespace": namespace,
            "storage_driver": _DRIVERS[driver],
            "burst_limit": _BURST,
            "qps": _REQUESTS_A_SECOND,
        }

    def read(self, name: str) -> Release | None:
        with self._config() as config:
            try:
                body: Body = self._in_thread(lambda: config.get_all(name))
                metadata: Body = self._in_thread(lambda: config.get_metadata(name))
            except self._library.HelmNotFoundError:
                return None
            except self._library.HelmError as error:
                raise failure(str(error)) from None
        return release_of(metadata, body["summary"].get("manifest", ""), body.get("config"))

    def install(self, wanted: DesiredRelease) -> None:
        self._write("helm_install", wanted, create_namespace=True)

    def upgrade(self, wanted: DesiredRelease) -> None:
        self._write(
            "helm_upgrade", wanted, reset_values=True, force_conflicts=self._force_conflicts
        )

    def uninstall(self, name: str, hooks: bool) -> None:
        options: Body = {"ignore_not_found": True, "timeout_seconds": self._timeout}
        if not hooks:
            # Config.uninstall has no word for it; its C call takes it.
            options["disable_hooks"] = True
        native = self._library._native
        with self._config() as config:
            raw = config._raw()
            try:
                self._in_thread(
                    lambda: native.call_string("helm_uninstall", raw, name, json.dumps(options))
                )
            except self._library.HelmError as error:
                raise failure(str(error)) from None

    def _write(self, verb: str, wanted: DesiredRelease, **options: bool) -> None:
        given = {
            "namespace": self._namespace,
            "timeout_seconds": self._timeout,
            "labels": MARK,
            **options,
        }
        native = self._library._native
        with self._config() as config, self._library.HelmContext() as context:
            # Config.upgrade has no word for conflicts; its C call takes it.
            arguments = (
                config._raw(),
                config._context_arg(context),
                *config._chart_args(wanted.chart),
                wanted.name,
                json.dumps(wanted.values),
                json.dumps(given),
            )
            try:
                self._in_thread(lambda: native.call_string(verb, *arguments), context.cancel)
            except self._library.HelmError as error:
                raise failure(str(error)) from None

    def _config(self) -> Any:
        try:
            return self._library.Config(**self._options)
        except self._library.HelmError as error:
            raise failure(str(error)) from None

    def _in_thread(
        self, call: Callable[[], _Answer], cancel: Callable[[], None] = lambda: None
    ) -> _Answer:
        """Run a call where Ctrl-C reaches Python: it cancels, and waits for the call to end.

        The thread is a daemon: a call that does not end does not keep the process.
        """
        answers: list[_Answer] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                answers.append(call())
            except self._library.HelmError as error:
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        with warnings_once(self._shown):
            thread.start()
            self._wait(thread, cancel)
        if errors:
            raise errors[0]
        return answers[0]

    def _wait(self, thread: threading.Thread, cancel: Callable[[], None]) -> None:
        try:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
        except KeyboardInterrupt:
            cancel()
            thread.join(_ENDING_SECONDS)
            raise
