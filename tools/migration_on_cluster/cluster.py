"""The API server of the current context of a kubeconfig."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import requests
from kubernetes import client, config

from chartkit.model import Body

_SERVED: Final = (200, 201, 202)
_PAUSE: Final = 0.5
_MERGE: Final = "application/merge-patch+json"
_RUN: Final = {"dryRun": "All"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the API server; body: the object, or a Status where it refused."""

    code: int
    body: Body
    warnings: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        return self.code in _SERVED

    @property
    def message(self) -> str:
        return "" if self.is_good else str(self.body.get("message", ""))


class Cluster:
    """Objects of a cluster, read and written."""

    def __init__(self) -> None:
        config.load_kube_config()
        settings: Any = client.Configuration.get_default_copy()
        self._url = settings.host
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = settings.ssl_ca_cert
        if settings.cert_file:
            self._session.cert = (settings.cert_file, settings.key_file)
        for header in settings.auth_settings().values():
            self._session.headers[header["key"]] = header["value"]
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    def create(self, body: Body, user: Body | None = None, *, dry: bool = False) -> Reply:
        """Create an object; user: `name` and `groups` of the user who asks."""
        return self._send("post", self.path(body, named=False), body, user, dry)

    def patch(self, body: Body, user: Body | None = None, *, dry: bool = False) -> Reply:
        return self._send("patch", self.path(body), body, user, dry)

    def delete(self, body: Body, user: Body | None = None, *, dry: bool = False) -> Reply:
        return self._send("delete", self.path(body), None, user, dry)

    def get(self, body: Body) -> Body | None:
        """Return an object; None where there is none."""
        reply = self._send("get", self.path(body), None, None, False)
        return reply.body if reply.is_good else None

    def read(self, path: str) -> Body:
        """Return what a path answers, a Status where it refuses."""
        return self._send("get", path, None, None, False).body

    def items(self, path: str) -> list[Body]:
        """Return the objects of a list; none where it is not served."""
        found: list[Body] = self.read(path).get("items") or []
        return found

    def _send(self, verb: str, path: str, body: Body | None, user: Body | None, dry: bool) -> Reply:
        headers: dict[str, str | bytes] = {"Content-Type": _MERGE} if verb == "patch" else {}
        if user is not None:
            headers["Impersonate-User"] = user["name"]
            for group in user.get("groups") or ():
                headers["Impersonate-Group"] = group
        answer = self._session.request(
            verb, f"{self._url}{path}", json=body, headers=headers, params=_RUN if dry else {}
        )
        warnings = answer.headers.get("Warning", "")
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        body = answer.json() if is_json else {"message": answer.text}
        return Reply(answer.status_code, body, (warnings,) if warnings else ())

    def path(self, body: Body, *, named: bool = True) -> str:
        """Return the URL path of an object, or of the list that it is in."""
        version = body["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource, namespaced = self._kind(base, body["kind"])
        metadata = body["metadata"]
        where = f"/namespaces/{metadata.get('namespace', 'default')}" if namespaced else ""
        return f"{base}{where}/{resource}" + (f"/{metadata['name']}" if named else "")

    def _kind(self, base: str, kind: str) -> tuple[str, bool]:
        if kind not in self._kinds.get(base, {}):
            reply = self._send("get", base, None, None, False)
            self._kinds[base] = {
                one["kind"]: (one["name"], one["namespaced"])
                for one in reply.body.get("resources", ())
                if "/" not in one["name"]
            }
        return self._kinds[base][kind]


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Return whether something holds before the time is over."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE)
    return True


_IDENTITY: Final = ("name", "namespace", "labels", "annotations")
_GENERATED: Final = ("generate.kyverno.io/", "app.kubernetes.io/managed-by", "kyverno.io/")


def content(body: Body | None) -> Body | None:
    """Return what an object says, without what the API server and Kyverno write for themselves."""
    if body is None:
        return None
    metadata: Body = {key: body["metadata"][key] for key in _IDENTITY if key in body["metadata"]}
    for key in ("labels", "annotations"):
        kept = _own(metadata.pop(key, {}).items())
        if kept:
            metadata[key] = kept
    others = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {**others, "metadata": metadata}


def _own(texts: Iterable[tuple[str, str]]) -> Body:
    return {key: text for key, text in texts if not key.startswith(_GENERATED)}
