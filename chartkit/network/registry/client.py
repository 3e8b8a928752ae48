"""Documents of one registry: manifests and blobs, each checked against its digest and cached."""

from __future__ import annotations

import contextlib
import hashlib
import http
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from chartkit.atomic import replacing
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.go.strconv import quote
from chartkit.model import Json
from chartkit.network.http.limits import Memory
from chartkit.network.http.transport import Request, Response
from chartkit.network.http.urls import is_loopback
from chartkit.network.registry.credentials import Keychain
from chartkit.network.registry.settings import Limits, MissingError, RegistryError, Settings
from chartkit.network.registry.transport import (
    Repository,
    Transport,
    diagnosis,
    fetch_token,
    head_diagnosis,
    printable,
    read_challenge,
)

OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_INDEX: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
_MANIFESTS: Final = ", ".join((OCI_MANIFEST, DOCKER_MANIFEST, OCI_INDEX, DOCKER_INDEX))
_TAG: Final = re.compile(r"(?!\.+\Z)[A-Za-z0-9_.-]{1,128}\Z", re.ASCII)
_WITHOUT_REFERRERS: Final = frozenset(
    {http.HTTPStatus.NOT_FOUND, http.HTTPStatus.BAD_REQUEST, http.HTTPStatus.NOT_ACCEPTABLE}
)
"""Statuses of a registry that keeps no list of referrers."""
_DEEPEST: Final = 64
_PRIVATE: Final = 0o600
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Document:
    """media_type: as the registry says it; digest: of the content, which was made from it."""

    media_type: str
    digest: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """kind: `manifests`, `blobs`, `referrers`; accept: media types; most: bytes of an answer; size:
    bytes that it must have, None where unknown."""

    kind: str
    identifier: str
    accept: str
    most: int
    size: int | None = None


class Client:
    """Reads documents of images with one set of credentials, and keeps the tokens that it got."""

    def __init__(
        self, settings: Settings, transport: Transport, keychain: Keychain, insecure: bool = False
    ) -> None:
        """Create a client. insecure: whether a registry without TLS is asked without."""
        self._settings = settings
        self._transport = transport
        self._keychain = keychain
        self._insecure = insecure
        self._unencrypted: set[str] = set()
        self._cache = Cache(settings.cache, settings.limits, f"{keychain.owner}{insecure:d}")
        self._authorizations: dict[Repository, str] = {}
        self._secrets: set[str] = set()

    def manifest(self, image: RegistryReference, identifier: str) -> Document:
        """Return a manifest or index, by tag or digest; raises RegistryError."""
        by_digest = identifier if is_digest(identifier) else ""
        if not by_digest and not _TAG.match(identifier):
            message = f"{quote(printable(identifier))} is neither a tag nor a sha256 digest"
            raise RegistryError(message)
        kept = self._kept(image, by_digest)
        if kept is not None:
            value = read_json(kept, "a manifest")
            content_type = ""
            if isinstance(value, dict):
                media_type = value.get("mediaType")
                default = OCI_INDEX if "manifests" in value else OCI_MANIFEST
                content_type = media_type if isinstance(media_type, str) else default
            return Document(content_type, by_digest, kept)
        most = self._settings.limits.document
        answer, url = self._get(image, _Endpoint("manifests", identifier, _MANIFESTS, most))
        digest = digest_of(answer.body)
        if by_digest and digest != by_digest:
            raise RegistryError(
                f'manifest digest: "{digest}" does not match requested digest: "{by_digest}" for '
                f'"{image.registry}/{image.repository}@{by_digest}"'
            )
        announced = answer.headers.get("docker-content-digest", "")
        if is_digest(announced) and announced != digest:
            text = f"GET {url}: is announced as {announced}, and its digest is {digest}"
            raise RegistryError(text, unanswered=True)
        self._cache.put(_scope(image), answer.body)
        return Document(
            answer.headers.get("content-type", "").partition(";")[0].strip(), digest, answer.body
        )

    def blob(self, image: RegistryReference, digest: str, size: int, most: int) -> bytes:
        """Return a blob whose digest and size (bytes) are known; raises RegistryError. most: bytes
        beyond which a blob is refused."""
        if not is_digest(digest):
            raise RegistryError(f"{printable(digest)} is not a sha256 digest")
        content = self._kept(image, digest)
        if content is None:
            if size > most:
                text = f"the blob {digest} is larger than {most:,} bytes"
                raise RegistryError(text, unanswered=True)
            answer, _ = self._get(image, _Endpoint("blobs", digest, "*/*", most, size))
            content = answer.body
            check_blob(content, digest, size)
            self._cache.put(_scope(image), content)
        return content

    def referrers(self, image: RegistryReference, digest: str) -> bytes | None:
        """Return the index of what refers to a digest; None where the registry keeps no such list.
        Of a list in pages the first one, which is all that Kyverno reads."""
        wanted = _Endpoint("referrers", digest, OCI_INDEX, self._settings.limits.document)
        answer, _ = self._get(image, wanted, _WITHOUT_REFERRERS)
        is_there = answer.status == http.HTTPStatus.OK
        # No parameter may follow: go-containerregistry compares the whole header.
        is_list = is_there and answer.headers.get("content-type") == OCI_INDEX
        return answer.body if is_list else None

    def _kept(self, image: RegistryReference, digest: str) -> bytes | None:
        return self._cache.get(_scope(image), digest) if digest else None

    def _get(
        self, image: RegistryReference, wanted: _Endpoint, expected: frozenset[int] = frozenset()
    ) -> tuple[Response, str]:
        """An answer of status 200 or a known one, and what was asked; else RegistryError."""
        host = self._settings.mirrors.get(image.registry, image.registry)
        is_plain = host in self._settings.plain or is_loopback(host.rpartition(":")[0] or host)
        repository = Repository(host, image.repository, is_plain)
        try:
            answer, url = self._get_at(repository, wanted)
        except RegistryError as error:
            raise error.worded(self._clean(error.message)) from None
        if answer.status != http.HTTPStatus.OK and answer.status not in expected:
            is_missing = answer.status == http.HTTPStatus.NOT_FOUND
            kind = MissingError if is_missing else RegistryError
            failure = kind(f"GET {url}: {self._clean(diagnosis(answer))}")
            failure.without_body = f"HEAD {url}: {head_diagnosis(answer)}"
            raise failure
        return answer, url

    def _get_at(self, repository: Repository, wanted: _Endpoint) -> tuple[Response, str]:
        if repository.plain or not self._insecure:
            return self._authorized(repository, wanted)
        lost = ""
        if repository.host not in self._unencrypted:
            try:
                return self._authorized(repository, wanted)
            except RegistryError as error:
                if not error.unanswered:
                    raise
                lost = f"{error.message}; "
        try:
            answer = self._authorized(replace(repository, plain=True, private=False), wanted)
        except RegistryError as error:
            raise error.worded(f"{lost}{error.message}") from None
        self._unencrypted.add(repository.host)
        return answer

    def _authorized(self, repository: Repository, wanted: _Endpoint) -> tuple[Response, str]:
        url = f"{repository.base}/{repository.repository}/{wanted.kind}/{wanted.identifier}"
        answer = self._ask(url, wanted, self._authorizations.get(repository))
        if answer.status == http.HTTPStatus.UNAUTHORIZED:
            authorization = self._authorize(answer, repository)
            if authorization is not None:
                self._authorizations[repository] = authorization
                answer = self._ask(url, wanted, authorization)
        return answer, url

    def _ask(self, url: str, wanted: _Endpoint, authorization: str | None) -> Response:
        headers = {"Accept": wanted.accept}
        if authorization is not None:
            headers["Authorization"] = authorization
        return self._transport.ask(Request(url, wanted.most, headers, size=wanted.size))

    def _authorize(self, answer: Response, repository: Repository) -> str | None:
        """Return the Authorization header that answers a challenge, None without one."""
        challenge = read_challenge(answer.headers.get("www-authenticate", ""))
        if challenge is None:
            return None
        who = self._keychain.find(repository.host, repository.repository, repository.private)
        if who is not None:
            self._secrets.update(who.secrets)
        if who is not None and (who.token or not challenge.is_bearer):
            return who.authorization
        if not challenge.is_bearer:
            return None
        limit = self._settings.limits.token
        token = fetch_token(self._transport, challenge, repository, who, limit)
        self._secrets.add(token)
        return f"Bearer {token}"

    def _clean(self, text: str) -> str:
        """Return a message, which may repeat what a server sent, without secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def read_json(content: bytes, what: str) -> Json:
    """A document's value; raises RegistryError for one that is not JSON or nested too deeply."""
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise RegistryError(f"{what} is not JSON") from None
    if is_deeper(value, _DEEPEST):
        raise RegistryError(f"{what} is nested more than {_DEEPEST} deep", unanswered=True)
    return value


def _refuse(name: str) -> None:
    raise ValueError(name)


def check_blob(content: bytes, digest: str, size: int) -> None:
    """Require a blob to have its digest and size; raises RegistryError."""
    if len(content) != size:
        raise RegistryError(f"error verifying size; got {len(content)}, want {size}")
    actual = digest_of(content)
    if actual != digest:
        raise RegistryError(
            f"error verifying sha256 checksum after reading {size} bytes; "
            f'got "{actual}", want "{digest}"'
        )


def _scope(image: RegistryReference) -> str:
    return f"{image.registry}/{image.repository}"


def is_deeper(value: Json, levels: int) -> bool:
    """Report whether a document has more levels of mappings and lists; all values are one level."""
    level: list[Json] = [value]
    for _ in range(levels):
        level = [
            member
            for node in level
            if isinstance(node, dict | list)
            for member in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def digest_of(content: bytes) -> str:
    """Return the digest by which a registry names a document."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(text: str) -> bool:
    """Report whether a text is a SHA-256 digest, the only kind that is requested."""
    return _DIGEST.match(text) is not None


class Cache:
    """Documents of this run and, with a folder, of earlier ones; a file that is not what its name
    says counts as none. Of those in memory the ones asked for longest ago are forgotten first."""

    def __init__(self, folder: Path | None, limits: Limits, owner: str) -> None:
        """Create a cache. owner: a name for the credentials; the same for the same rights."""
        self._folder = folder
        self._owner = owner
        self._most = limits.document
        self._held: Memory[str, bytes] = Memory(
            limits.held, lambda _, content: len(content) if isinstance(content, bytes) else 0
        )

    def get(self, scope: str, digest: str) -> bytes | None:
        """Return a document, None if it is not cached. scope: registry and repository, so that a
        document is shown only to credentials that may read it."""
        blob = self._held.get(f"{scope}@{digest}")
        if blob is not None or self._folder is None:
            return blob
        try:
            with self._path(scope, digest).open("rb") as file:
                content = file.read(self._most + 1)
        except OSError:
            return None
        return content if digest_of(content) == digest else None

    def put(self, scope: str, content: bytes) -> None:
        """Keep a document, except in a folder that cannot be written to."""
        digest = digest_of(content)
        self._held.put(f"{scope}@{digest}", content)
        if self._folder is None or len(content) > self._most:
            return
        path = self._path(scope, digest)
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(path, _PRIVATE) as file:
                file.write(content)

    def _path(self, scope: str, digest: str) -> Path:
        folder = self._folder or Path()
        return (
            folder
            / hashlib.sha256(f"{self._owner} {scope}".encode()).hexdigest()[:16]
            / digest.partition(":")[2]
        )
