"""A registry on loopback that takes what is pushed to it (the OCI distribution protocol)."""

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.loopback import LoopbackServer

_UPLOAD = re.compile(r"/v2/(.+)/blobs/uploads/?(\w*)")
_BLOB = re.compile(r"/v2/(.+)/blobs/(sha256:[0-9a-f]{64})")
_MANIFEST = re.compile(r"/v2/(.+)/manifests/(.+)")
_TAGS = re.compile(r"/v2/(.+)/tags/list")


@dataclass(slots=True)
class WritableRegistry:
    """host: as references name it; manifests: type and content by repository and tag or digest;
    refusal: the status that every write gets, 0 for none."""

    host: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    refusal: int = 0
    writes: int = 0


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@contextlib.contextmanager
def serving_registry() -> Iterator[WritableRegistry]:  # noqa: C901 - one handler
    registry = WritableRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if found := _MANIFEST.fullmatch(path):
                kind, content = registry.manifests.get((found[1], found[2]), ("", b""))
                self.document(kind, content, "MANIFEST_UNKNOWN")
            elif found := _BLOB.fullmatch(path):
                content = registry.blobs.get(found[2], b"")
                self.document("application/octet-stream", content, "BLOB_UNKNOWN")
            elif found := _TAGS.fullmatch(path):
                tags = [tag for name, tag in registry.manifests if name == found[1]]
                self.answer(200, json.dumps({"name": found[1], "tags": tags}).encode())
            else:
                self.answer(200, b"{}")

        do_HEAD = do_GET  # noqa: N815 - the server's own name

        def document(self, kind: str, content: bytes, missing: str) -> None:
            if content:
                digest = _digest(content)
                self.answer(200, content, Content_Type=kind, Docker_Content_Digest=digest)
            else:
                body = {"errors": [{"code": missing, "message": missing.lower()}]}
                self.answer(404, json.dumps(body).encode(), Content_Type="application/json")

        def do_POST(self) -> None:
            self.read()
            found = _UPLOAD.fullmatch(urlsplit(self.path).path)
            if registry.refusal or found is None:
                self.answer(registry.refusal or 404)
            else:
                self.answer(202, Location=f"/v2/{found[1]}/blobs/uploads/one")

        def do_PUT(self) -> None:
            content, url = self.read(), urlsplit(self.path)
            digest = _digest(content)
            registry.writes += 1
            if registry.refusal:
                self.answer(registry.refusal)
            elif found := _MANIFEST.fullmatch(url.path):
                document = (self.headers.get("Content-Type", ""), content)
                registry.manifests[found[1], found[2]] = document
                registry.manifests[found[1], digest] = document
                self.answer(201, Docker_Content_Digest=digest, Location=url.path)
            else:
                assert parse_qs(url.query)["digest"] == [digest]
                registry.blobs[digest] = content
                self.answer(201, Docker_Content_Digest=digest, Location=url.path)

        def read(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    registry.host = f"127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
