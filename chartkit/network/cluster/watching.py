"""Watches of a live cluster: whether objects of some resources changed, not what changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final

from chartkit.documents.json_text import parse_json
from chartkit.errors import Bugs, ChartkitError
from chartkit.model import Body, Json, mapping_at, text_of
from chartkit.network.cluster.client import Cluster
from chartkit.network.cluster.source import with_query

_OK: Final = 200
_CONNECT: Final = 10.0
_LASTS: Final = 300
"""Seconds after which a server ends a watch, which then begins again."""
_PAUSE: Final = 5.0
_PART: Final = 1 << 16
_LONGEST_LINE: Final = 16 << 20


class Watches:
    """Watches of resources by their paths, each in a thread of its own."""

    def __init__(self, cluster: Cluster, paths: Iterable[str]) -> None:
        """Every change from now on counts. Raise ClusterError where the server does not answer."""
        self._cluster = cluster
        self._changed = threading.Event()
        self._stop = threading.Event()
        for path in paths:
            version = self._version(path)
            threading.Thread(target=self._run, args=(path, version), daemon=True).start()

    def changed(self) -> bool:
        """Return whether anything changed since the last call."""
        found = self._changed.is_set()
        self._changed.clear()
        return found

    def close(self) -> None:
        """End. A thread that waits for the server ends with the next event."""
        self._stop.set()

    def _version(self, path: str) -> str:
        """Return the version of a list, empty where it is not served."""
        found = self._cluster.get(with_query(path, {"limit": "1"})) or {}
        return _version_of(found)

    def _run(self, path: str, version: str) -> None:
        while not self._stop.is_set():
            try:
                with Bugs():
                    version = self._follow(path, version)
            except (ChartkitError, OSError):
                # Whatever happened in between counts as a change.
                self._changed.set()
                version = ""
            if not version:
                self._stop.wait(_PAUSE)

    def _follow(self, path: str, version: str) -> str:
        """Read a watch to its end, and return the version to go on from, empty for the present."""
        from urllib3.util import Timeout

        query = {"watch": "1", "timeoutSeconds": str(_LASTS), "allowWatchBookmarks": "true"}
        if version:
            query["resourceVersion"] = version
        cluster = self._cluster
        response = cluster.connection.rest_client.pool_manager.request(
            "GET",
            f"{cluster.server.rstrip('/')}{with_query(path, query)}",
            headers={"Accept": "application/json", **cluster.credentials},
            timeout=Timeout(connect=_CONNECT, read=_LASTS + 2 * _CONNECT),
            preload_content=False,
            redirect=False,
            retries=False,
        )
        try:
            if response.status != _OK:
                raise ValueError(f"status {response.status}")
            return self._events(response, version)
        finally:
            response.close()

    def _events(self, response: Any, version: str) -> str:
        rest = b""
        while part := response.read1(_PART):
            if self._stop.is_set():
                return version
            *lines, rest = (rest + part).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                raise ValueError("an event is too long")
            for line in filter(bytes.strip, lines):
                version = self._event(parse_json(line), version)
                if not version:
                    return version
        return version

    def _event(self, event: Json, version: str) -> str:
        if not isinstance(event, dict):
            raise ValueError("an event is a JSON object")
        kind, body = event.get("type"), mapping_at(event, "object")
        if kind == "ERROR":
            self._changed.set()
            return ""
        if kind != "BOOKMARK":
            self._changed.set()
        return _version_of(body) or version


def _version_of(body: Body) -> str:
    found = mapping_at(body, "metadata").get("resourceVersion")
    return text_of(found)
