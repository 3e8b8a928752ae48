"""Documents of one registry: manifests and blobs, each checked against its digest."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.engine.values.gofmt import go_sprint
from chartkit.engine.values.registry_reference import RegistryReference
from chartkit.model import Json
from chartkit.registry.addresses import is_loopback
from chartkit.registry.cache import Cache, digest_of, is_digest
from chartkit.registry.challenges import fetch_token, read_challenge
from chartkit.registry.credentials import Credentials, DockerConfig
from chartkit.registry.errors import RegistryError
from chartkit.registry.settings import Settings
from chartkit.registry.transport import Answer, Question, Transport

OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_INDEX: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
_MANIFESTS: Final = ", ".join((OCI_MANIFEST, DOCKER_MANIFEST, OCI_INDEX, DOCKER_INDEX))
_LONGEST: Final = 400
"""Characters of what a server says that are passed on."""


@dataclass(frozen=True, slots=True)
class Document:
    """media_type: as the registry says it; digest: of the content, which was made from it."""

    media_type: str
    digest: str
    content: bytes


class Client:
    """Reads documents of images; knows who the user is, and what tokens were given so far."""

    def __init__(self, settings: Settings, config: DockerConfig) -> None:
        self._settings = settings
        self._config = config
        self._transport = Transport(settings)
        self._cache = Cache(settings.cache, settings.limits)
        self._authorizations: dict[tuple[str, str], str] = {}
        self._secrets: set[str] = set()

    def manifest(self, image: RegistryReference, identifier: str) -> Document:
        """A manifest or index, by tag or digest; raises RegistryError."""
        by_digest = identifier if is_digest(identifier) else ""
        kept = self._kept(image, by_digest)
        if kept is not None:
            return Document(_media_type(kept), by_digest, kept)
        answer, url = self._get(image, "manifests", identifier, _MANIFESTS)
        digest = digest_of(answer.body)
        if by_digest and digest != by_digest:
            raise RegistryError(
                f'manifest digest: "{digest}" does not match requested digest: "{by_digest}" for '
                f'"{image.registry}/{image.repository}@{by_digest}"'
            )
        announced = answer.headers.get("docker-content-digest", "")
        if is_digest(announced) and announced != digest:
            raise RegistryError(
                f"GET {url}: is announced as {announced}, and its digest is {digest}"
            )
        self._cache.put(_scope(image), answer.body)
        media_type = answer.headers.get("content-type", "").partition(";")[0].strip()
        return Document(media_type, digest, answer.body)

    def blob(self, image: RegistryReference, digest: str, size: int) -> bytes:
        """A blob whose digest and size (bytes) are known; raises RegistryError."""
        if not is_digest(digest):
            raise RegistryError(f"{_printable(digest)} is no sha256 digest")
        content = self._kept(image, digest)
        if content is None:
            if size > self._settings.limits.document:
                most = self._settings.limits.document
                raise RegistryError(f"the blob {digest} is larger than {most:,} bytes")
            answer, url = self._get(image, "blobs", digest, "*/*")
            content = answer.body
            found = digest_of(content)
            if len(content) != size:
                raise RegistryError(f"GET {url}: {len(content)} bytes do not match the size {size}")
            if found != digest:
                raise RegistryError(f"error verifying sha256 checksum; got {found}, want {digest}")
            self._cache.put(_scope(image), content)
        return content

    def _kept(self, image: RegistryReference, digest: str) -> bytes | None:
        return self._cache.get(_scope(image), digest) if digest else None

    def _get(
        self, image: RegistryReference, kind: str, identifier: str, accept: str
    ) -> tuple[Answer, str]:
        """An answer of status 200 and what was asked; raises RegistryError for any other."""
        host = self._settings.mirrors.get(image.registry, image.registry)
        plain = host in self._settings.plain or is_loopback(host.rpartition(":")[0] or host)
        base = f"http{'' if plain else 's'}://{host}/v2/"
        url = f"{base}{image.repository}/{kind}/{identifier}"
        key = (host, image.repository)
        try:
            answer = self._ask(url, accept, self._authorizations.get(key))
            if answer.status == http.HTTPStatus.UNAUTHORIZED:
                authorization = self._authorize(answer, key, host if plain else "")
                if authorization is not None:
                    self._authorizations[key] = authorization
                    answer = self._ask(url, accept, authorization)
        except RegistryError as error:
            raise RegistryError(self._clean(error.message), hint=error.hint) from None
        if answer.status != http.HTTPStatus.OK:
            raise RegistryError(f"GET {url}: {self._clean(_said(answer))}")
        return answer, url

    def _ask(self, url: str, accept: str, authorization: str | None) -> Answer:
        headers = {"Accept": accept}
        if authorization is not None:
            headers["Authorization"] = authorization
        return self._transport.ask(Question(url, headers, self._settings.limits.document))

    def _authorize(self, answer: Answer, key: tuple[str, str], plain_host: str) -> str | None:
        """What to send after an answer that asks who is there; None where nothing can be said."""
        challenge = read_challenge(answer.headers.get("www-authenticate", ""))
        if challenge is None:
            return None
        who: Credentials | None = self._config.find(*key)
        if who is not None:
            self._secrets.update(who.secrets)
        if not challenge.is_bearer:
            return None if who is None or who.identity else who.basic
        token = fetch_token(
            self._transport,
            challenge,
            f"repository:{key[1]}:pull",
            who,
            self._settings.limits.token,
            plain_host,
        )
        self._secrets.add(token)
        return f"Bearer {token}"

    def _clean(self, text: str) -> str:
        """A message that may have been made of what a server sent back, without secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def read_json(content: bytes, what: str) -> Json:
    """A document's value; raises RegistryError for one that is no JSON or nested too deeply."""
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise RegistryError(f"{what} is not JSON") from None
    level: list[Json] = [value]
    for _ in range(_DEEPEST):
        level = [
            member
            for each in level
            if isinstance(each, dict | list)
            for member in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return value
    raise RegistryError(f"{what} is nested more than {_DEEPEST} deep")


_DEEPEST: Final = 64


def _refuse(name: str) -> None:
    raise ValueError(name)


def _scope(image: RegistryReference) -> str:
    return f"{image.registry}/{image.repository}"


def _media_type(content: bytes) -> str:
    """Of a document that was kept: what it says itself, or what its members show."""
    value = read_json(content, "a manifest")
    if not isinstance(value, dict):
        return ""
    media_type = value.get("mediaType")
    if isinstance(media_type, str):
        return media_type
    return OCI_INDEX if "manifests" in value else OCI_MANIFEST


def _said(answer: Answer) -> str:
    """What a registry says of a failure, as tools of registries show it."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    errors = body.get("errors") if isinstance(body, dict) else None
    if isinstance(errors, list) and errors:
        texts = [_diagnostic(one) for one in errors[:5] if isinstance(one, dict)]
        many = "multiple errors returned: " if len(texts) > 1 else ""
        return _printable(many + "; ".join(texts))
    try:
        phrase = http.HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    text = f"unexpected status code {answer.status} {phrase}"
    raw = answer.body.decode(errors="replace")
    return _printable(f"{text}: {raw}" if raw.strip() else text)


def _diagnostic(body: Mapping[str, Json]) -> str:
    text = f"{body.get('code', '')}: {body.get('message', '')}"
    detail = body.get("detail")
    return text if detail is None else f"{text}; {go_sprint(detail)}"


def _printable(text: str) -> str:
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "�" for letter in line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
