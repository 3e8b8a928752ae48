"""A registry on loopback: images in memory, pushed ones too, behind the answers a test wants."""

import contextlib
import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from chartkit.model import Body, Json
from tests.loopback import LoopbackServer, QuietHandler, running

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
_NOTHING = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}).encode()
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
    token is wanted; announced: the digest that every document is announced under, its own where
    empty; connections: how many were made; has_referrers: whether the registry lists what refers
    to a digest itself rather than by tags; page: descriptors in a page of such a list, 0 for all
    of them in one; refusal: the status that every write gets, 0 for none; writes: how many came."""

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
    connections: int = 0
    has_referrers: bool = True
    page: int = 0
    refusal: int = 0
    writes: int = 0

    @property
    def manifests(self) -> dict[str, tuple[str, bytes]]:
        """Types and contents of all manifests by their paths."""
        return {path: kept for path, kept in self.documents.items() if "/manifests/" in path}

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
        named = self.add_blob(repository, json.dumps(config).encode(), CONFIG)
        body = {"schemaVersion": 2, "mediaType": MANIFEST, "config": named, "layers": []}
        return self.add(repository, tag, MANIFEST, body)

    def add_blob(
        self, repository: str, content: bytes, media_type: str = "application/octet-stream"
    ) -> Body:
        """Content under its digest; gives the descriptor, to which annotations may be added."""
        digest = digest_of(content)
        self.documents[f"/v2/{repository}/blobs/{digest}"] = ("application/octet-stream", content)
        return {"mediaType": media_type, "size": len(content), "digest": digest}

    def add_artifact(
        self,
        repository: str,
        subject: str,
        artifact_type: str,
        layers: Sequence[Body],
        annotations: Mapping[str, str] | None = None,
    ) -> str:
        """A manifest that refers to the digest of another; layers: descriptors of `add_blob`. Gives
        its own digest. It is listed among what refers to the subject, by the registry itself or
        under the tag that stands for that."""
        given = {"annotations": dict(annotations)} if annotations else {}
        body = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": artifact_type,
            "config": self.add_blob(repository, b"{}", EMPTY),
            "layers": list(layers),
            "subject": self.descriptor(repository, subject),
            **given,
        }
        digest = self.add(repository, "", MANIFEST, body)
        listed = {**self.descriptor(repository, digest), "artifactType": artifact_type, **given}
        self.list_referrers(repository, subject, [*self.referrers(repository, subject), listed])
        return digest

    def descriptor(self, repository: str, digest: str) -> Body:
        """Of a manifest; of size 0 where there is none of that digest."""
        media_type, content = self.documents.get(
            f"/v2/{repository}/manifests/{digest}", (MANIFEST, b"")
        )
        return {"mediaType": media_type, "size": len(content), "digest": digest}

    def referrers(self, repository: str, subject: str) -> list[Body]:
        """Descriptors of what refers to a digest."""
        kept = self.documents.get(self._list_path(repository, subject))
        listed: list[Body] = json.loads(kept[1])["manifests"] if kept else []
        return listed

    def list_referrers(self, repository: str, subject: str, listed: Sequence[Body]) -> None:
        """Says what refers to a digest, whether it is so or not."""
        body = {"schemaVersion": 2, "mediaType": INDEX, "manifests": list(listed)}
        content = json.dumps(body).encode()
        self.documents[self._list_path(repository, subject)] = (INDEX, content)

    def _list_path(self, repository: str, subject: str) -> str:
        if self.has_referrers:
            return f"/v2/{repository}/referrers/{subject}"
        return f"/v2/{repository}/manifests/{subject.replace(':', '-')}"


class Handler(QuietHandler):
    """Answers one connection."""

    registry: Registry
    stop: threading.Event
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self.registry.connections += 1
        super().setup()

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
        elif path == "/v2/":
            self.answer(200, b"{}")
        elif "/referrers/" in path and registry.has_referrers:
            self._refer(path)
        elif path.endswith("/tags/list"):
            start = f"{path.removesuffix('tags/list')}manifests/"
            tags = [name.removeprefix(start) for name in registry.documents if start in name]
            self.answer(200, json.dumps({"name": path[4:-10], "tags": tags}).encode())
        elif path in registry.documents:
            media_type, content = registry.documents[path]
            digest = registry.announced or digest_of(content)
            self.answer(200, content, Content_Type=media_type, Docker_Content_Digest=digest)
        else:
            self.fail(404, "MANIFEST_UNKNOWN", "manifest unknown")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        if "/blobs/uploads" not in self.path:
            self.do_GET()
            return
        self.content()
        place = self.path.partition("?")[0].rstrip("/")
        self.answer(self.registry.refusal or 202, b"", Location=f"{place}/one")

    def do_PUT(self) -> None:
        registry, content, url = self.registry, self.content(), urlsplit(self.path)
        digest = digest_of(content)
        registry.writes += 1
        if registry.refusal:
            self.answer(registry.refusal, b"")
            return
        if "/manifests/" in url.path:
            document = (self.headers.get("Content-Type", ""), content)
            for place in (url.path, f"{url.path.rpartition('/')[0]}/{digest}"):
                registry.documents[place] = document
        else:
            assert parse_qs(url.query)["digest"] == [digest]
            place = f"{url.path.partition('/blobs/')[0]}/blobs/{digest}"
            registry.documents[place] = ("application/octet-stream", content)
        self.answer(201, b"", Docker_Content_Digest=digest, Location=url.path)

    def _refer(self, path: str) -> None:
        """What refers to a digest, in pages; nothing, where nobody has said what."""
        _, content = self.registry.documents.get(path, ("", _NOTHING))
        headers = {}
        if self.registry.page:
            body = json.loads(content)
            first = int(parse_qs(urlsplit(self.path).query).get("from", ["0"])[0])
            after = first + self.registry.page
            if after < len(body["manifests"]):
                headers["Link"] = f'<{path}?from={after}>; rel="next"'
            body["manifests"] = body["manifests"][first:after]
            content = json.dumps(body).encode()
        self.answer(200, content, Content_Type=INDEX, **headers)

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
            form = parse_qs(self.content().decode())
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


def slow(handler: Handler) -> bool:
    """Says nothing while anybody waits."""
    handler.stop.wait()
    return True


def cut(handler: Handler) -> bool:
    """Ends in the middle of an answer."""
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{")
    handler.close_connection = True
    return True


def basic(name: str, password: str) -> str:
    import base64

    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


@contextlib.contextmanager
def serving(tls: ssl.SSLContext | None = None, version: str = "1.0") -> Iterator[Registry]:
    """A registry without any image, until the block ends; version: of HTTP, which keeps
    connections from 1.1 on."""
    registry = Registry(scheme="https" if tls else "http")
    stop = threading.Event()
    handler = type(
        "Bound",
        (Handler,),
        {"registry": registry, "stop": stop, "protocol_version": f"HTTP/{version}"},
    )
    server = LoopbackServer(("127.0.0.1", 0), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    with running(server) as registry.host:
        try:
            yield registry
        finally:
            stop.set()
