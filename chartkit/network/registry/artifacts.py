"""Artifacts of an image's repository: manifests, blobs, and what refers to a digest.

Each document is checked against the digest in the request, and requested once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.scalars.image_reference import (
    ImageReferenceError,
    RegistryReference,
    parse_reference,
)
from chartkit.engine.scalars.image_reference import parse_repository as repository_of
from chartkit.go.strconv import quote
from chartkit.go.types import Base64Error, decode_base64
from chartkit.model import Body, Json, mappings_at, text_of
from chartkit.network.http.limits import Memory
from chartkit.network.registry.client import (
    DOCKER_INDEX,
    OCI_INDEX,
    Client,
    Document,
    check_blob,
    is_digest,
    read_json,
)
from chartkit.network.registry.settings import Limits, MissingError, RegistryError
from chartkit.network.registry.transport import printable

_DIGITS: Final = "0123456789abcdef"
_INDEXES: Final = frozenset({OCI_INDEX, DOCKER_INDEX})
_SCHEMA_1: Final = "application/vnd.docker.distribution.manifest.v1"
_PLATFORM: Final = ("linux", "amd64")


class NoReferenceError(RegistryError):
    """The text is not a reference."""


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A reference and the manifest or index that it names itself."""

    reference: RegistryReference
    document: Document


class Artifacts:
    """Asks registries with one set of credentials, once for each thing: failures are kept, too."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resolved: Memory[str, ResolvedReference] = Memory()
        self._documents: Memory[tuple[str, str, str], Document] = Memory()
        self._referrers: Memory[tuple[str, str, str], Sequence[Body]] = Memory()

    def resolve(self, reference: str) -> ResolvedReference:
        """The document of a reference; raises NoReferenceError, MissingError or RegistryError."""
        return self._resolved.once(reference, lambda: self._resolve(reference))

    def manifest(self, repository: RegistryReference, identifier: str) -> Document:
        """Return a manifest or index of a repository, by tag or digest. Raises MissingError where
        the registry has none, RegistryError where it does not say."""
        key = (repository.registry, repository.repository, identifier)
        return self._documents.once(key, lambda: self._client.manifest(repository, identifier))

    def blob(
        self, repository: RegistryReference, digest: str, size: int, most: int, data: Json = None
    ) -> bytes:
        """Return a blob of a repository, by the digest and size (bytes) of its descriptor. most:
        bytes beyond which it is refused; data: the descriptor's own copy of it, which then counts.
        Raises MissingError or RegistryError."""
        if data is None:
            return self._client.blob(repository, digest, size, most)
        try:
            content = decode_base64(data if isinstance(data, str) else "?")[:size]
        except Base64Error as error:
            raise RegistryError(str(error)) from None
        check_blob(content, digest, size)
        return content

    def referrers(self, repository: RegistryReference, digest: str) -> Sequence[Body]:
        """Return the descriptors that refer to a digest, by the registry's list or, where it keeps
        none, by the tag in its place; raises RegistryError. Only the first page of a list is read,
        as by Kyverno."""
        key = (repository.registry, repository.repository, digest)
        return self._referrers.once(key, lambda: self._list(repository, digest))

    def _resolve(self, reference: str) -> ResolvedReference:
        try:
            parsed = parse_reference(reference)
        except ImageReferenceError as error:
            raise NoReferenceError(str(error)) from None
        return ResolvedReference(parsed, self.manifest(parsed, parsed.identifier))

    def _list(self, repository: RegistryReference, digest: str) -> Sequence[Body]:
        if not is_digest(digest):
            raise RegistryError("referrers are listed for a sha256 digest alone")
        content = self._client.referrers(repository, digest)
        if content is None:
            try:
                content = self.manifest(repository, digest.replace(":", "-")).content
            except MissingError:
                return ()
        index = read_json(content, f"the list of what refers to {digest}")
        listed = index.get("manifests") if isinstance(index, dict) else ""
        if listed is None:
            return ()
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise RegistryError(f"the list of what refers to {digest} holds no descriptors")
        for entry in listed:
            # Errors are in the words of Kyverno's client.
            text = text_of(entry.get("digest"))
            algorithm, _, digits = text.partition(":")
            if not algorithm or not digits:
                raise RegistryError(f"cannot parse hash: {quote(printable(text))}")
            strange = digits.lstrip(_DIGITS)
            if strange:
                raise RegistryError(f"found non-hex character in hash: {printable(strange[0])}")
            if algorithm != "sha256":
                raise RegistryError(f"unsupported hash: {quote(printable(algorithm))}")
            if not is_digest(text):
                raise RegistryError(f"wrong number of hex digits for sha256: {printable(digits)}")
        return tuple(listed)


def parse_repository(text: str) -> RegistryReference:
    """Return a repository without tag and digest, as policies name one that holds signatures;
    raises NoReferenceError."""
    try:
        return repository_of(text)
    except ImageReferenceError as error:
        raise NoReferenceError(str(error)) from None


def image_of(
    artifacts: Artifacts,
    repository: RegistryReference,
    document: Document,
    name: str,
    depth: int = Limits().depth,
) -> tuple[Json, Document]:
    """Return the index, None where a document is none, and the manifest of the platform. name: of
    the document, in messages; depth: how many indexes may stand in one another. Raises MissingError
    or RegistryError."""
    index: Json = None
    for _ in range(depth):
        if document.media_type not in _INDEXES:
            break
        listed = read_json(document.content, "the image index")
        index = listed if index is None else index
        document = artifacts.manifest(repository, _child(listed, name))
    if document.media_type in _INDEXES:
        raise RegistryError(f"more than {depth} indexes are nested")
    if document.media_type.startswith(_SCHEMA_1):
        raise RegistryError(f'unsupported MediaType: "{document.media_type}"')
    return index, document


def _child(index: Json, name: str) -> str:
    """Return the digest of the platform's image in an index; raises RegistryError."""
    for manifest in mappings_at(index, "manifests"):
        platform = manifest.get("platform")
        if platform is None:
            named: tuple[Json, Json] = _PLATFORM
        else:
            at = platform if isinstance(platform, dict) else {}
            named = (at.get("os"), at.get("architecture"))
        digest = manifest.get("digest")
        if named == _PLATFORM and isinstance(digest, str) and digest.startswith("sha256:"):
            return digest
    raise RegistryError(f"no child with platform {'/'.join(_PLATFORM)} in index {name}")
