"""Signatures and attestations of cosign's classic format: layers of a manifest beside an image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from cryptography import x509

from chartkit.addons.signatures.errors import UndecidedError, within
from chartkit.addons.signatures.go_json import field, read_object, struct
from chartkit.addons.signatures.trust.certificates import read_certificates
from chartkit.engine.ports import SignatureError
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.errors import LookupFailed
from chartkit.go.types import Base64Error, decode_base64
from chartkit.model import Body, Json
from chartkit.network.registry.artifacts import Artifacts, image_of
from chartkit.network.registry.client import read_json
from chartkit.network.registry.settings import MissingError, RegistryError

SIGNATURE: Final = "dev.cosignproject.cosign/signature"
_CERTIFICATE: Final = "dev.sigstore.cosign/certificate"
_CHAIN: Final = "dev.sigstore.cosign/chain"
_BUNDLE: Final = "dev.sigstore.cosign/bundle"
_TIMESTAMP: Final = "dev.sigstore.cosign/rfc3161timestamp"
_REFERRER: Final = "application/vnd.dev.cosign.artifact.sig.v1+json"

_MOST_LAYERS: Final = 1000
"""Cosign's limit of signatures for one image."""
_MOST_CERTIFICATES: Final = 12
"""In the chain that comes with one signature."""
_LARGEST: Final = 128 << 20
"""Bytes of one payload, cosign's limit; an attestation may list all that an image is made of."""
_ALL: Final = 256 << 20
"""Bytes of all payloads of one image."""

Answer = TypeVar("Answer")


class NotThereError(SignatureError):
    """The registry says that it has no such thing."""


def asked(ask: Callable[[], Answer]) -> Answer:
    """Return what a registry answers. Bad news is a verdict (SignatureError, NotThereError), as
    it is for Kyverno; raises RegistryError where there is no answer."""
    try:
        return ask()
    except MissingError as error:
        raise NotThereError(error.message, hint=error.hint) from None
    except RegistryError as error:
        if error.unanswered:
            raise
        raise SignatureError(error.message, hint=error.hint) from None


@dataclass(frozen=True, slots=True)
class RekorBundle:
    """A log's bundle attached to a signature: the entry, in base64, and the log's promise to
    include it.

    at: when it was logged, in seconds; log: the log's identifier, in hex.
    """

    body: Json
    at: int
    index: int
    log: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedLayer:
    """One signature (in base64) over its payload; for an attestation the signature is empty, and
    the payload an envelope that is signed itself. timestamp: an RFC 3161 response."""

    payload: bytes
    signature: str
    annotations: Mapping[str, str]
    certificate: x509.Certificate | None = None
    chain: tuple[x509.Certificate, ...] = ()
    promise: RekorBundle | None = None
    timestamp: bytes | None = None

    @property
    def raw_signature(self) -> bytes:
        """The signature's bytes; raises SignatureError."""
        return from_base64(self.signature)


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of one manifest, of an image's signatures or attestations."""

    repository: RegistryReference
    descriptors: tuple[Body, ...] = ()

    def read(self, artifacts: Artifacts) -> Iterator[SignedLayer | SignatureError | UndecidedError]:
        """Yield each layer, or its error; raises RegistryError for a registry without an answer,
        LookupFailed for too much of them."""
        left = _ALL
        for descriptor in self.descriptors:
            try:
                size, digest = _size(descriptor), _digest(descriptor)
                if size > _LARGEST:
                    raise SignatureError(f"size of layer ({size}) exceeded the limit ({_LARGEST})")
                left -= size
                if left < 0:
                    raise LookupFailed(f"signatures of one image are more than {_ALL:,} bytes")
                data = descriptor.get("data")
                blob = partial(artifacts.blob, self.repository, digest, size, _LARGEST, data)
                yield read_layer(asked(blob), descriptor)
            except (SignatureError, UndecidedError) as error:
                yield error


def tagged_layers(
    artifacts: Artifacts, repository: RegistryReference, digest: str, suffix: str, prefix: str = ""
) -> Layers:
    """Return the layers under the tag that cosign derives from an image's digest; none without such
    a tag. suffix: `sig` or `att`. Raises SignatureError or RegistryError."""
    tag = f"{prefix}{digest.replace(':', '-', 1)}.{suffix}"
    try:
        return _layers(artifacts, repository, tag)
    except NotThereError:
        return Layers(repository)


def referring_layers(artifacts: Artifacts, repository: RegistryReference, digest: str) -> Layers:
    """Return the last of the signatures that refer to an image; raises SignatureError for none."""
    listed = asked(lambda: artifacts.referrers(repository, digest))
    found = [one for one in listed if one.get("artifactType") == _REFERRER]
    if not found:
        raise SignatureError(f"unable to locate reference with artifactType {_REFERRER}")
    return _layers(artifacts, repository, str(found[-1]["digest"]))


def manifest_at(artifacts: Artifacts, repository: RegistryReference, identifier: str) -> Json:
    """Return the manifest of a tag or digest; for an index, the manifest of the platform, as for
    images. Raises NotThereError or SignatureError; RegistryError where there is no answer."""
    joint = "@" if ":" in identifier else ":"
    name = f"{repository.registry}/{repository.repository}{joint}{identifier}"

    def ask() -> Json:
        document = artifacts.manifest(repository, identifier)
        _, manifest = image_of(artifacts, repository, document, name)
        return read_json(manifest.content, "the manifest of signatures")

    return asked(ask)


def _layers(artifacts: Artifacts, repository: RegistryReference, identifier: str) -> Layers:
    manifest = manifest_at(artifacts, repository, identifier)
    listed = manifest.get("layers") if isinstance(manifest, dict) else None
    if listed is None:
        return Layers(repository)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise SignatureError("the manifest of signatures contains no layers")
    if len(listed) > _MOST_LAYERS:
        raise SignatureError(
            f"number of layers ({len(listed)}) exceeded the limit ({_MOST_LAYERS})"
        )
    return Layers(repository, tuple(listed))


def _digest(descriptor: Body) -> str:
    digest = descriptor.get("digest")
    if not isinstance(digest, str):
        raise SignatureError("a layer of the manifest of signatures has no digest")
    return digest


def _size(descriptor: Body) -> int:
    size = descriptor.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SignatureError("a layer of the manifest of signatures has no size")
    return size


def read_layer(content: bytes, descriptor: Body) -> SignedLayer:
    """Return a layer and the content of its annotations; raises SignatureError, UndecidedError for
    too much."""
    given = descriptor.get("annotations")
    annotations = (
        {key: value for key, value in (given or {}).items() if isinstance(value, str)}
        if isinstance(given, dict)
        else {}
    )
    if SIGNATURE not in annotations:
        raise SignatureError(
            f'signature layer {descriptor.get("digest")} is missing "{SIGNATURE}" annotation'
        )
    promise = read_promise(annotations.get(_BUNDLE, ""))
    timestamp = _timestamp(annotations.get(_TIMESTAMP, ""))
    certificates = read_certificates(annotations.get(_CERTIFICATE, ""))
    chain = read_certificates(annotations.get(_CHAIN, "")) if certificates else []
    if len(chain) > _MOST_CERTIFICATES:
        raise UndecidedError(f"more than {_MOST_CERTIFICATES} certificates come with a signature")
    return SignedLayer(
        content,
        annotations[SIGNATURE],
        annotations,
        certificates[0] if certificates else None,
        tuple(chain),
        promise,
        timestamp,
    )


def read_promise(text: str) -> RekorBundle | None:
    """Return a log's bundle, None for no text; raises SignatureError."""
    if not text:
        return None
    with within("unmarshaling bundle"):
        body = read_object(text, "bundle.RekorBundle")
        payload = struct(body, "Payload", _PAYLOAD)
        at, index, log = (field(payload, key) for key in ("integratedTime", "logIndex", "logID"))
        numbers = (at or 0, index or 0)
        if not all(type(number) is int and abs(number) < _INT64 for number in numbers):
            raise SignatureError("integratedTime and logIndex are numbers")
        if not isinstance(log or "", str):
            raise SignatureError("logID is text")
        signature = _octets(body, "SignedEntryTimestamp")
    return RekorBundle(field(payload, "body"), *numbers, log or "", signature)


_INT64: Final = 1 << 63
_PAYLOAD: Final = "RekorBundle.Payload of type bundle.RekorPayload"


def _timestamp(text: str) -> bytes | None:
    if not text:
        return None
    with within("unmarshaling RFC3161 timestamp bundle"):
        body = read_object(text, "bundle.RFC3161Timestamp")
        return _octets(body, "SignedRFC3161Timestamp")


def _octets(body: Body, key: str) -> bytes:
    value = field(body, key)
    if not isinstance(value or "", str):
        raise SignatureError(f"{key} is not a string")
    return from_base64(value or "")


def from_base64(text: str) -> bytes:
    """Return the bytes of standard base64, with line breaks as Go allows them; raises
    SignatureError in its words."""
    try:
        return decode_base64(text)
    except Base64Error as error:
        raise SignatureError(str(error)) from None
