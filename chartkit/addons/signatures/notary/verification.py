"""Verification of a manifest by its signatures, at notation's verification level `strict`.

A registry has signatures as manifests of their own that refer to what they sign. The steps, their
order and words follow notation-go's verifier: integrity, authenticity, expiry, an authentic time,
revocation, and last what was signed.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NoReturn

from cryptography import x509

from chartkit.addons.signatures.errors import UndecidedError, within
from chartkit.addons.signatures.go_json import decode, read
from chartkit.addons.signatures.notary import cose, jws
from chartkit.addons.signatures.notary.chain import (
    asks_elsewhere,
    check_chain,
    line,
    moment_of,
    now,
    shown,
    subject,
)
from chartkit.addons.signatures.notary.jws import PLUGIN, SIGNING_AUTHORITY, Content, check_content
from chartkit.addons.signatures.trust.timestamps import TimestampAuthority, verify_token
from chartkit.engine.ports.signatures import SignatureError
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.go.strconv import quote
from chartkit.go.time_layout import Moment
from chartkit.go.types import GoTypes
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.client import Document, read_json
from chartkit.network.registry.settings import RegistryError

_PAYLOAD: Final = "application/vnd.cncf.notary.payload.v1+json"
_NOBODY_ASKED: Final = "responders (OCSP) and revocation lists are not asked"
_TYPES: Final = GoTypes(
    {
        "envelope.Payload": {"targetArtifact": "v1.Descriptor"},
        "v1.Descriptor": dict.fromkeys(("mediaType", "digest", "size"), "Raw"),
    },
    exact=True,
)
_MICROSECOND: Final = 1000
SIGNATURE: Final = "application/vnd.cncf.notary.signature"
_MOST_ATTEMPTS: Final = 10
_MOST_REFERRERS: Final = 50
MOST_BYTES: Final = 10_000_000
"""Kyverno's limits: signatures of one manifest, what refers to it, bytes of a layer."""
_GZIP: Final = b"\x1f\x8b"
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"


class RevocationUnknownError(SignatureError):
    """A certificate whose revocation only a server knows that is not asked."""

    def __init__(self, whose: str) -> None:
        super().__init__(f"{line(whose)} revocation status is unknown: {_NOBODY_ASKED}")


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Certificates that are trusted as they stand, one of which has to be in a signature's chain;
    clocks: whose time stamps are."""

    authorities: Sequence[x509.Certificate]
    clocks: Sequence[x509.Certificate] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """The manifest that must be signed, by its descriptor."""

    media_type: str
    digest: str
    size: int


def check_envelope(raw: bytes, media_type: str, target: Target, trust: TrustStore) -> None:
    """Require an envelope to be a trusted signature of a manifest. Raises SignatureError in
    notation's words, RevocationUnknownError where nothing else is wrong."""
    try:
        unasked = _check(raw, media_type, target, trust)
    except SignatureError as error:
        raise SignatureError(line(error.message), hint=error.hint) from None
    if unasked is not None:
        raise unasked


def _check(
    raw: bytes, media_type: str, target: Target, trust: TrustStore
) -> RevocationUnknownError | None:
    # The content of an envelope whose signature holds.
    with within("unable to parse the digital signature, error "):
        if media_type == jws.MEDIA_TYPE:
            in_json = jws.parse(raw)
        elif media_type == cose.MEDIA_TYPE:
            in_cbor = cose.parse(raw)
        else:
            kind = quote(media_type)
            message = f"signature envelope format with media type {kind} is not supported"
            raise SignatureError(message)
    content = jws.verify(in_json) if media_type == jws.MEDIA_TYPE else cose.verify(in_cbor)
    check_content(content)
    if content.content_type != _PAYLOAD:
        raise SignatureError(f"payload content type {quote(content.content_type)} not supported")
    # Refuse an envelope that needs a plugin: Kyverno has none.
    wanted = content.attributes.get(PLUGIN)
    if wanted is not None:
        if not wanted.is_critical:
            raise SignatureError(f"{PLUGIN} is not a critical Extended attribute")
        if not isinstance(wanted.value, str):
            raise SignatureError(f"{PLUGIN} from extended attribute is not a string")
        if not wanted.value.strip():
            raise SignatureError(f"{PLUGIN} from extended attribute is an empty string")
        raise SignatureError("plugin unsupported due to nil verifier.pluginManager")
    # Kyverno's store is one of authorities; a signing authority is looked for in another one.
    if content.scheme == SIGNING_AUTHORITY or not trust.authorities:
        raise SignatureError("no trusted certificates are found to verify authenticity")
    if not any(certificate in trust.authorities for certificate in content.chain):
        message = "the signature's certificate chain does not contain any trusted certificate"
        raise SignatureError(message)
    at = now()
    if content.expiry is not None and at.nanoseconds >= content.expiry.nanoseconds:
        raise SignatureError(f"digital signature has expired on {quote(shown(content.expiry))}")
    unasked = _check_time(content, trust, at)
    body = decode(_TYPES, "envelope.Payload", read(content.payload))
    signed = body.get("targetArtifact", {})
    size = signed.get("size")
    descriptor = (signed.get("mediaType"), signed.get("digest"), size)
    if type(size) is not int or descriptor != (target.media_type, target.digest, target.size):
        raise SignatureError("content descriptor mismatch")
    return unasked or _unasked(content.chain, "signing")


def _check_time(content: Content, trust: TrustStore, at: Moment) -> RevocationUnknownError | None:
    """Require the chain to be valid at the time of the signature, by a time stamp or else now.
    Raises SignatureError; returns what is unknown of the time stamp itself."""
    if trust.clocks:
        if not content.time_stamp:
            message = "no timestamp countersignature was found in the signature envelope"
            raise SignatureError(message)
        authority = TimestampAuthority(tuple(trust.clocks))
        with within("failed to verify the timestamp countersignature with error"):
            stamp = verify_token(content.time_stamp, content.signature, authority)
        # Go's own chain ends at the first trusted certificate.
        trusted = (at for at, link in enumerate(stamp.chain, 1) if link in trust.clocks)
        chain = stamp.chain[: next(trusted, None)]
        with within("failed to validate the timestamping certificate chain with error"):
            check_chain(chain, stamps=True)
        middle = moment_of(stamp.time).nanoseconds + stamp.time.microsecond * _MICROSECOND
        accuracy = stamp.accuracy // timedelta(microseconds=1) * _MICROSECOND
        _check_validity(content.chain, middle - accuracy, middle + accuracy, "timestamp can be")
        return _unasked(chain, "timestamping")
    _check_validity(content.chain, at.nanoseconds, at.nanoseconds, "verification time is")
    return None


def _check_validity(
    chain: Sequence[x509.Certificate], earliest: int, latest: int, what: str
) -> None:
    """Require certificates to be valid between two times, in nanoseconds; what: in words."""
    for link in chain:
        first, last = moment_of(link.not_valid_before_utc), moment_of(link.not_valid_after_utc)
        period = f"certificate {subject(link)} validity period"
        if earliest < first.nanoseconds:
            message = f"{what} before {period}, it will be valid from {quote(shown(first))}"
            raise SignatureError(message)
        if latest > last.nanoseconds:
            raise SignatureError(f"{what} after {period}, it was expired at {quote(shown(last))}")


def _unasked(chain: Sequence[x509.Certificate], kind: str) -> RevocationUnknownError | None:
    """Return what is unknown of a chain; of several certificates notation names the first."""
    for certificate in chain[:-1]:
        if asks_elsewhere(certificate):
            return RevocationUnknownError(f"{kind} certificate with subject {subject(certificate)}")
    return None


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
        return [body for body in listed if body.get("artifactType") == artifact_type]

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
        # What it holds, where it is packed.
        if content.startswith(_ZSTANDARD):
            text = "a layer that is packed with Zstandard is not read"
            raise RegistryError(text, unanswered=True)
        if content.startswith(_GZIP):
            unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
            try:
                content = unpacking.decompress(content, MOST_BYTES + 1)
            except zlib.error:
                raise RegistryError("gzip: invalid header") from None
            if len(content) > MOST_BYTES:
                text = f"a layer unpacks to more than {MOST_BYTES} bytes"
                raise RegistryError(text, unanswered=True)
            if not unpacking.eof:
                raise RegistryError("unexpected EOF")
        return Layer(str(first.get("mediaType", "")), content)


def target_of(document: Document) -> Target:
    """Return the target of a signature that is a manifest."""
    return Target(document.media_type, document.digest, len(document.content))


def by_head(error: RegistryError) -> str:
    """The error in the words of a HEAD request, which Kyverno sends where chartkit sends a GET."""
    return error.without_body or error.message


def refuse(error: RegistryError, text: str) -> NoReturn:
    """Raise a registry's answer as a verdict, and a missing answer as it is."""
    if error.unanswered:
        raise error.worded(text) from None
    raise SignatureError(text, hint=error.hint) from None


def verify(repository: Repository, target: Target, trust: TrustStore) -> None:
    """Require a trusted signature of a manifest, in notation's order. Raises SignatureError in its
    words, UndecidedError where only a server that is not asked knows of a revocation, and
    RegistryError for a registry without an answer."""
    reference = repository.place
    # Require a repository's name that notation accepts: it has no addresses of IPv6.
    if reference.registry.startswith("["):
        scope = quote(f"{reference.registry}/{reference.repository}")
        raise SignatureError(
            f"registry scope {scope} is not valid, make sure it is a fully qualified repository "
            "without the scheme, protocol or tag. For example domain.com/my/repository or a local "
            "scope like local/myOCILayout"
        )
    signatures = repository.referrers(target.digest, SIGNATURE)
    texts, failures = ["signature verification failed"], []
    for descriptor in signatures[:_MOST_ATTEMPTS]:
        digest = str(descriptor["digest"])
        failed = (
            f"unable to retrieve digital signature with digest {quote(digest)} associated with "
            f"{quote(repository.named(target.digest))} from the Repository, error : "
        )
        try:
            layer = repository.layer(repository.manifest(digest), "payload")
        except RegistryError as error:
            refuse(error, failed + error.message)
        except SignatureError as error:
            raise SignatureError(failed + error.message) from None
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
