"""Signatures as a registry has them: manifests of their own that refer to what they sign."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from chartkit.addons.signatures.errors import UndecidedError
from chartkit.addons.signatures.notary.verification import (
    RevocationUnknownError,
    Target,
    TrustStore,
    check_envelope,
)
from chartkit.engine.ports import SignatureError
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.go.strconv import quote
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.client import Document, read_json
from chartkit.network.registry.settings import RegistryError

SIGNATURE: Final = "application/vnd.cncf.notary.signature"
_MOST_ATTEMPTS: Final = 10
_MOST_REFERRERS: Final = 50
MOST_BYTES: Final = 10_000_000
"""Kyverno's limits: signatures of one manifest, what refers to it, bytes of a layer."""
_GZIP: Final = b"\x1f\x8b"
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's content, unpacked, and what its manifest says it is."""

    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with signatures. is_single: whether an artifact has to have exactly one layer,
    as for ImageValidatingPolicies."""

    artifacts: Artifacts
    place: RegistryReference
    is_single: bool

    def named(self, digest: str) -> str:
        """Return a digest of the repository, as a reference."""
        return f"{self.place.registry}/{self.place.repository}@{digest}"

    def referrers(self, digest: str, artifact_type: str) -> Sequence[Body]:
        """Return the descriptors of a type's artifacts that refer to a digest. Raises
        SignatureError, or RegistryError for a registry without an answer."""
        try:
            listed = self.artifacts.referrers(self.place, digest)
        except RegistryError as error:
            refuse(error, error.message)
        if len(listed) > _MOST_REFERRERS:
            many = "to many" if self.is_single else "too many"
            raise SignatureError(
                f"failed to fetch referrers: {many} referrers found, max limit is {_MOST_REFERRERS}"
            )
        return [one for one in listed if one.get("artifactType") == artifact_type]

    def manifest(self, digest: str) -> Body:
        """Return a manifest; raises RegistryError."""
        content = self.artifacts.manifest(self.place, digest).content
        body = read_json(content, f"the manifest {digest}")
        if not isinstance(body, dict):
            raise RegistryError(f"the manifest {digest} is not an object")
        return body

    def layer(self, body: Body, what: str) -> Layer:
        """Return the first layer of a manifest. what: its name in messages. Raises SignatureError
        or RegistryError."""
        layers = body.get("layers")
        if self.is_single and (not isinstance(layers, list) or len(layers) != 1):
            raise SignatureError("invalid referrer descriptor, must have only one layer")
        first = layers[0] if isinstance(layers, list) and layers else None
        if not isinstance(first, dict):
            raise SignatureError("the manifest has no layers")
        digest, size = first.get("digest"), first.get("size")
        if not isinstance(digest, str) or type(size) is not int:
            raise SignatureError("the manifest's layer has no digest or size")
        if size > MOST_BYTES:
            text = f"{what} size {size} exceeds {MOST_BYTES} for digest {digest}"
            raise SignatureError(text)
        try:
            content = self.artifacts.blob(self.place, digest, size, MOST_BYTES)
        except RegistryError as error:
            # Without the manifest's size at hand Kyverno asks for the blob's first.
            raise error if self.is_single else error.worded(by_head(error)) from None
        return Layer(str(first.get("mediaType", "")), _unpacked(content))


def target_of(document: Document) -> Target:
    """Return the target of a signature that is a manifest."""
    return Target(document.media_type, document.digest, len(document.content))


def by_head(error: RegistryError) -> str:
    """Return the error in the words of a HEAD request, which Kyverno sends where chartkit sends a
    GET."""
    return error.without_body or error.message


def refuse(error: RegistryError, text: str) -> NoReturn:
    """Raise a registry's answer as a verdict, and a missing answer as it is."""
    if error.unanswered:
        raise error.worded(text) from None
    raise SignatureError(text, hint=error.hint) from None


def verify(repository: Repository, target: Target, trust: TrustStore) -> None:
    """Require a trusted signature of a manifest, in notation's order.

    Raises SignatureError in its words, UndecidedError where only a server that is not asked knows
    of a revocation, and RegistryError for a registry without an answer.
    """
    place = repository.place
    # Require a repository's name that notation accepts: it has no addresses of IPv6.
    if place.registry.startswith("["):
        scope = quote(f"{place.registry}/{place.repository}")
        raise SignatureError(
            f"registry scope {scope} is not valid, make sure it is a fully qualified repository "
            "without the scheme, protocol or tag. For example domain.com/my/repository or a local "
            "scope like local/myOCILayout"
        )
    signatures = repository.referrers(target.digest, SIGNATURE)
    texts, failures = ["signature verification failed"], []
    for descriptor in signatures[:_MOST_ATTEMPTS]:
        digest = str(descriptor["digest"])
        layer = _envelope(repository, digest, target)
        try:
            check_envelope(layer.content, layer.media_type, target, trust)
        except SignatureError as error:
            texts.append(f"failed to verify signature with digest {digest}, {error.message}")
            failures.append(error)
        else:
            return
    if any(isinstance(error, RevocationUnknownError) for error in failures):
        raise UndecidedError("\n".join(texts))
    if len(signatures) >= _MOST_ATTEMPTS:
        raise SignatureError(
            "signature evaluation stopped. The configured limit of "
            f"{_MOST_ATTEMPTS} signatures to verify per artifact exceeded"
        )
    if not signatures:
        raise SignatureError(
            f"no signature is associated with {quote(repository.named(target.digest))}, make sure "
            "the artifact was signed successfully"
        )
    raise SignatureError("\n".join(texts))


def _envelope(repository: Repository, digest: str, target: Target) -> Layer:
    where = (
        f"unable to retrieve digital signature with digest {quote(digest)} associated with "
        f"{quote(repository.named(target.digest))} from the Repository, error : "
    )
    try:
        return repository.layer(repository.manifest(digest), "payload")
    except RegistryError as error:
        refuse(error, where + error.message)
    except SignatureError as error:
        raise SignatureError(where + error.message) from None


def _unpacked(content: bytes) -> bytes:
    """Return a layer as it is, or what it holds where it is packed; raises RegistryError."""
    if content.startswith(_ZSTANDARD):
        raise RegistryError("a layer that is packed with Zstandard is not read", unanswered=True)
    if not content.startswith(_GZIP):
        return content
    unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        found = unpacking.decompress(content, MOST_BYTES + 1)
    except zlib.error:
        raise RegistryError("gzip: invalid header") from None
    if len(found) > MOST_BYTES:
        raise RegistryError(f"a layer unpacks to more than {MOST_BYTES} bytes", unanswered=True)
    if not unpacking.eof:
        raise RegistryError("unexpected EOF")
    return found
