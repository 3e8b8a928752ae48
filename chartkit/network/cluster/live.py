"""Reads a live API server through Kubernetes' own Python client: GET requests and nothing else.

The client reads the kubeconfig, and gives the connection (TLS, proxies) and credentials, which it
renews itself. Nothing that is raised here holds a credential.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from chartkit.documents.json_text import parse_json
from chartkit.errors import Bugs, ChartkitError
from chartkit.model import Body, Json, mapping_at, text_of
from chartkit.network.cluster.client import Cluster, is_sendable
from chartkit.network.cluster.source import TOO_LARGE, RefusedError, SourceError, with_query

_CONNECT: Final = 10.0
_ANSWER: Final = 60.0
"""Seconds to connect, and to wait for each part of an answer."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""The longest answer that is read; a page of 500 large Pods has some 10 MB."""
_MOST_SAID: Final = 300
_BUSY: Final = frozenset({429, 503})
_TRIES: Final = 4
_LONGEST_PAUSE: Final = 5.0
_UNAUTHORIZED: Final = 401
_OK: Final = 200

_DOING: Final = frozenset(("attach", "exec", "portforward", "proxy"))
"""Subresources that do something although they are asked for with GET."""
_ENDLESS: Final = re.compile(r"(^|&)(watch|follow)=(?!(0|false)(&|$))", re.IGNORECASE)
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]")
_LASTS: Final = 300
"""Seconds after which a server ends a watch, which then begins again."""
_PAUSE: Final = 5.0
_PART: Final = 1 << 16
_LONGEST_LINE: Final = 16 << 20


class _Answer(NamedTuple):
    status: int
    content: bytes
    pause: float


class LiveSource:
    """A live API server. After a final answer (an expired token, no connection, a wrong
    certificate) nothing more is asked."""

    def __init__(self, cluster: Cluster, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = cluster.shown
        self.fault: SourceError | None = None
        self._cluster = cluster
        self._sleep = sleep

    def get(self, path: str, /) -> Body:
        if self.fault is not None:
            raise self.fault
        _check(path)
        answer = self._ask(path)
        for _ in range(_TRIES - 1):
            if answer.status not in _BUSY:
                break
            self._sleep(min(answer.pause, _LONGEST_PAUSE))
            answer = self._ask(path)
        if answer.status == _UNAUTHORIZED:
            hint = "log in again: the credentials are missing or have expired"
            raise self._broken(f"{self.name} does not know you (401)", hint)
        if answer.status != _OK:
            raise RefusedError(answer.status, self._said(answer.content))
        try:
            body = parse_json(answer.content)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            message = f"{self.name} did not respond with a JSON object"
            raise self._broken(message, "is this an API server?")
        return body

    def _ask(self, path: str) -> _Answer:
        from urllib3.exceptions import HTTPError

        from chartkit.network.http.transport import retry_after

        if not all(map(is_sendable, self._cluster.credentials.values())):
            # They may have been renewed since the kubeconfig was read.
            message = "the credentials contain characters that a request cannot send"
            raise self._broken(message, None)
        try:
            times = (_CONNECT, _ANSWER)
            response = self._cluster.send("GET", path, timeout=times, preload=False)
            try:
                pause = retry_after(response.headers)
                parts: list[bytes] = []
                size = 0
                while part := response.read(1 << 20):
                    parts.append(part)
                    size += len(part)
                    if size > MOST_BYTES:
                        response.close()
                        text = f"the answer has more than {MOST_BYTES >> 20} MiB"
                        raise RefusedError(TOO_LARGE, text)
                content = b"".join(parts)
                return _Answer(response.status, content, 1.0 if pause is None else pause)
            finally:
                response.release_conn()
        except HTTPError as error:
            raise self._unanswered(error) from None

    def _unanswered(self, error: Exception) -> SourceError:
        from urllib3 import exceptions

        if isinstance(error, exceptions.SSLError):
            hint = "is its certificate that of the kubeconfig's certificate authority, and yours?"
            return self._broken(f"{self.name}: the TLS connection failed", hint)
        if isinstance(error, exceptions.ReadTimeoutError):
            return self._broken(f"{self.name} did not answer in {_ANSWER:.0f} s", "try again")
        if isinstance(error, exceptions.ConnectTimeoutError | exceptions.ProxyError):
            hint = "is the cluster up, and is this the right context?"
            return self._broken(f"{self.name} does not answer", hint)
        cut = (exceptions.ProtocolError, exceptions.IncompleteRead, exceptions.DecodeError)
        if isinstance(error, cut):
            return self._broken(f"{self.name} cut its answer short", "try again")
        return self._broken(f"{self.name} cannot be asked ({type(error).__name__})", None)

    def _broken(self, text: str, hint: str | None) -> SourceError:
        self.fault = SourceError(text, None, hint)
        return self.fault

    def _said(self, content: bytes) -> str:
        """Return the message of a Status, without credentials."""
        try:
            body = parse_json(content)
        except ValueError:
            return ""
        said = body.get("message") if isinstance(body, dict) else None
        text = " ".join(said.split()) if isinstance(said, str) else ""
        for value in self._cluster.credentials.values():
            for secret in value.split()[-1:] if " " in value else ():
                text = text.replace(secret, "***")
        return text[:_MOST_SAID]


def _check(path: str) -> None:
    """Raises RefusedError for a path that leads elsewhere, or does more than to read."""
    if not path.startswith("/") or path.startswith("//") or _CONTROL.search(path):
        raise RefusedError(0, "only paths of the API server can be requested")
    asked = urlsplit(path)
    root, *parts = [part for part in unquote(asked.path).split("/") if part] or [""]
    # Behind the version, and the namespace where there is one: resource, name, subresource.
    rest = parts[2 if root == "apis" else 1 :]
    is_watch = rest[:1] == ["watch"] or _ENDLESS.search(asked.query)
    rest = rest[2:] if rest[:1] == ["namespaces"] and len(rest) > 2 else rest
    if is_watch or ".." in parts or _DOING.intersection(rest[2:3]):
        raise RefusedError(0, "only read requests are sent")


class Watches:
    """Watches of resources by their paths, each in a thread of its own."""

    def __init__(self, cluster: Cluster, paths: Iterable[str]) -> None:
        """Every change from now on counts. Raise ClusterError where the server does not answer."""
        self._cluster = cluster
        self._changed = threading.Event()
        self._stop = threading.Event()
        for path in paths:
            body = self._cluster.get(with_query(path, {"limit": "1"})) or {}
            version = _version_of(body)
            threading.Thread(target=self._run, args=(path, version), daemon=True).start()

    def changed(self) -> bool:
        """Report whether anything changed since the last call."""
        changed = self._changed.is_set()
        self._changed.clear()
        return changed

    def close(self) -> None:
        """End. A thread that waits for the server ends with the next event."""
        self._stop.set()

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
        query = {"watch": "1", "timeoutSeconds": str(_LASTS), "allowWatchBookmarks": "true"}
        if version:
            query["resourceVersion"] = version
        times = (_CONNECT, _LASTS + 2 * _CONNECT)
        response = self._cluster.send("GET", with_query(path, query), timeout=times, preload=False)
        try:
            if response.status != _OK:
                raise ValueError(f"status {response.status}")
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
        finally:
            response.close()

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
    version = mapping_at(body, "metadata").get("resourceVersion")
    return text_of(version)
