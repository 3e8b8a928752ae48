"""A registry on loopback: images in memory, behind whatever a test wants of its answers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from chartkit.model import Body, Json

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"

Fault = Callable[["Handler"], bool]
"""What is done in an answer's place; False where the answer is to be given after all."""


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(slots=True)
class Registry:
    """host: as references name it; asked: method and path of every request, in order; sent: the
    Authorization headers that came; faults: by path, one for each request, the last for all
    further ones; password: of the user `who`, empty where everybody may read; bearer: whether a
    token is wanted."""

    host: str = ""
    scheme: str = "http"
    documents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    password: str = ""
    bearer: bool = False
    realm: str = ""
    token: str = "the-token-of-this-registry"
    announced: str = ""

    def add(self, repository: str, tag: str, media_type: str, body: Json) -> str:
        """A manifest under its tag (if it has any) and digest."""
        content = json.dumps(body).encode()
        digest = digest_of(content)
        for name in (tag, digest):
            if name:
                self.documents[f"/v2/{repository}/manifests/{name}"] = (media_type, content)
        return digest

    def add_image(self, repository: str, tag: str, config: Body) -> str:
        """An image with a configuration; gives the manifest's digest."""
        content = json.dumps(config).encode()
        digest = digest_of(content)
        self.documents[f"/v2/{repository}/blobs/{digest}"] = ("application/octet-stream", content)
        named = {"mediaType": CONFIG, "size": len(content), "digest": digest}
        body = {"schemaVersion": 2, "mediaType": MANIFEST, "config": named, "layers": []}
        return self.add(repository, tag, MANIFEST, body)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    registry: Registry
    stop: threading.Event

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        registry = self.registry
        registry.asked.append(f"{self.command} {path}")
        registry.sent.append(self.headers.get("Authorization", ""))
        faults = registry.faults.get(path)
        if faults and (faults.pop(0) if len(faults) > 1 else faults[0])(self):
            return
        if path == "/token":
            self._token()
        elif not self._is_allowed():
            self._refuse()
        elif path in registry.documents:
            media_type, content = registry.documents[path]
            digest = registry.announced or digest_of(content)
            self.answer(200, content, Content_Type=media_type, Docker_Content_Digest=digest)
        else:
            self.fail(404, "MANIFEST_UNKNOWN", "manifest unknown")

    do_POST = do_GET  # noqa: N815 - the name that http.server calls

    def _is_allowed(self) -> bool:
        registry = self.registry
        said = self.headers.get("Authorization", "")
        if registry.bearer:
            return said == f"Bearer {registry.token}"
        return not registry.password or said == basic("who", registry.password)

    def _refuse(self) -> None:
        registry = self.registry
        challenge = 'Basic realm="here"'
        if registry.bearer:
            realm = registry.realm or f"http://{registry.host}/token"
            challenge = f'Bearer realm="{realm}",service="a, b",scope="repository:x:pull"'
        said = self.headers.get("Authorization", "")
        self.fail(401, "UNAUTHORIZED", f"not you: {said}", WWW_Authenticate=challenge)

    def _token(self) -> None:
        registry = self.registry
        if self.command == "POST":
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            allowed = form["refresh_token"] == [registry.password]
        else:
            said = self.headers.get("Authorization", "")
            allowed = not registry.password or said == basic("who", registry.password)
        if allowed:
            self.answer(200, json.dumps({"token": registry.token}).encode())
        else:
            self.answer(401, b"{}")

    def fail(self, status: int, code: str, message: str, **headers: str) -> None:
        """An answer in the form that registries give their errors."""
        body = {"errors": [{"code": code, "message": message}]}
        self.answer(status, json.dumps(body).encode(), **headers)

    def answer(self, status: int, content: bytes, **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        for name, value in {"Content_Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


def basic(name: str, password: str) -> str:
    import base64

    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


@contextlib.contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Registry]:
    """A registry without any image, until the block ends."""
    registry = Registry(scheme="https" if tls else "http")
    stop = threading.Event()
    handler = type("Bound", (Handler,), {"registry": registry, "stop": stop})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        registry.host = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield registry
        finally:
            stop.set()
            server.shutdown()
            thread.join(10)
