"""Signatures and attestations of cosign's classic format: layers of a manifest beside an image, and
the payloads that they sign: simple signing, DSSE envelopes, in-toto statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from cryptography import x509

from chartkit.addons.signatures.errors import UndecidedError, within
from chartkit.addons.signatures.go_json import (
    field,
    mapping,
    read_object,
    read_strict,
    struct,
    values,
    wrong,
)
from chartkit.addons.signatures.trust.certificates import read_certificates
from chartkit.addons.signatures.trust.keys import KeyVerifier
from chartkit.engine.ports.signatures import SignatureError
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.errors import LookupFailed
from chartkit.go.fmt import go_sprint
from chartkit.go.types import Base64Error, decode_base64
from chartkit.model import Body, Json, text_of
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
_INT64: Final = 1 << 63
_PAYLOAD: Final = "RekorBundle.Payload of type bundle.RekorPayload"
IN_TOTO: Final = "application/vnd.in-toto+json"
_CUSTOM: Final = "https://cosign.sigstore.dev/attestation/v1"
_STATEMENT: Final = ("_type", "subject", "predicateType", "predicate")
_GO_TYPES: Final[Mapping[type, str]] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    bool: "bool",
    type(None): "<nil>",
}
_TEXTS: Final = frozenset(("name", "uri", "content", "downloadLocation", "mediaType"))
_OBJECTS: Final = frozenset(("digest", "annotations"))
_MOST_SIGNATURES: Final = 1000


class NotThereError(SignatureError):
    """The registry says that it has no such thing."""


def asked(ask: Callable[[], Answer]) -> Answer:
    """Return a registry's answer. A refusal is a verdict (SignatureError, NotThereError), as it is
    for Kyverno; raises RegistryError where there is no answer."""
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
    include it. at: when it was logged, in seconds; log: the log's identifier, in hex."""

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
                size, digest = descriptor.get("size"), descriptor.get("digest")
                if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                    raise SignatureError("a layer of the manifest of signatures has no size")
                if not isinstance(digest, str):
                    raise SignatureError("a layer of the manifest of signatures has no digest")
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
    signatures = [body for body in listed if body.get("artifactType") == _REFERRER]
    if not signatures:
        raise SignatureError(f"unable to locate reference with artifactType {_REFERRER}")
    return _layers(artifacts, repository, str(signatures[-1]["digest"]))


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
    if not isinstance(listed, list) or not all(isinstance(layer, dict) for layer in listed):
        raise SignatureError("the manifest of signatures contains no layers")
    if len(listed) > _MOST_LAYERS:
        message = f"number of layers ({len(listed)}) exceeded the limit ({_MOST_LAYERS})"
        raise SignatureError(message)
    return Layers(repository, tuple(listed))


def read_layer(content: bytes, descriptor: Body) -> SignedLayer:
    """Return a layer with its annotations; raises SignatureError, UndecidedError for too much."""
    given = descriptor.get("annotations")
    annotations = (
        {key: value for key, value in (given or {}).items() if isinstance(value, str)}
        if isinstance(given, dict)
        else {}
    )
    if SIGNATURE not in annotations:
        message = f'signature layer {descriptor.get("digest")} is missing "{SIGNATURE}" annotation'
        raise SignatureError(message)
    promise = read_promise(annotations.get(_BUNDLE, ""))
    text = annotations.get(_TIMESTAMP, "")
    if not text:
        timestamp: bytes | None = None
    else:
        with within("unmarshaling RFC3161 timestamp bundle"):
            body = read_object(text, "bundle.RFC3161Timestamp")
            timestamp = _octets(body, "SignedRFC3161Timestamp")
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


@dataclass(frozen=True, slots=True)
class SimplePayload:
    """A payload of simple signing: the image's digest, and the annotations of the signer."""

    digest: str
    optional: Mapping[str, Json]


def read_simple(content: bytes) -> SimplePayload:
    """Return a payload of a signature, whatever its other members; raises SignatureError."""
    body = read_object(content, "payload.SimpleContainerImage")
    critical = struct(body, "critical", "SimpleContainerImage.critical of type payload.Critical")
    image = struct(critical, "image", "Critical.critical.image of type payload.Image")
    field = "Critical.critical.identity of type payload.Identity"
    identity = struct(critical, "identity", field)
    digest = _text(image, "docker-manifest-digest", "Image.critical.image")
    optional = mapping(body, "optional", "SimpleContainerImage.optional")
    _text(identity, "docker-reference", "Identity.critical.identity")
    _text(critical, "type", "Critical.critical")
    return SimplePayload(digest, optional)


def check_claim(layer: SignedLayer, digest: str) -> None:
    """Require a signature to be of the image with a digest; raises SignatureError."""
    claimed = read_simple(layer.payload).digest
    if claimed != digest:
        raise SignatureError(f"invalid or missing digest in claim: {claimed}")


def check_subject(layer: SignedLayer, digest: str) -> None:
    """Require an attestation to be of the image with a digest; raises SignatureError."""
    subjects = read_attested(layer).get("subject") or []
    for subject in subjects:
        if not isinstance(subject, dict):
            raise SignatureError("invalid in-toto statement: null subject entry")
        digests = subject.get("digest")
        sha256 = digests.get("sha256") if isinstance(digests, dict) else None
        if isinstance(sha256, str) and f"sha256:{sha256}" == digest:
            return
    raise SignatureError("no matching subject digest found")


def read_attested(layer: SignedLayer) -> Body:
    """Return the statement in the envelope of an attestation; raises SignatureError."""
    return attested_statement(_payload_of(read_object(layer.payload)))


def attested_statement(content: bytes) -> Body:
    """Return a statement with the members that in-toto's type has, those without a value left out.
    As cosign's reader does, it accepts no other members; raises SignatureError."""
    body, is_strict = read_strict(content)
    predicate = body.get("predicate")
    if not isinstance(predicate, str) and not (is_strict and _is_statement(body)):
        if "predicate" not in body:
            raise SignatureError("could not parse statement, could not find predicate")
        kinds = (name for kind, name in _GO_TYPES.items() if isinstance(predicate, kind))
        kind = next(kinds, "float64")
        raise SignatureError(f"could not parse predicate with type {kind}")
    if not isinstance(body.get("subject"), list | None):
        raise SignatureError("could not parse statement: subject is not a list")
    return {key: body[key] for key in _STATEMENT if body.get(key) not in (None, "", [])}


def _is_statement(body: Body) -> bool:
    """Report whether every member has its type in in-toto's definitions."""
    subjects = body.get("subject")
    return (
        body.keys() <= set(_STATEMENT)
        and isinstance(body.get("predicate"), dict | None)
        and all(isinstance(body.get(key), str | None) for key in ("_type", "predicateType"))
        and isinstance(subjects, list | None)
        and all(isinstance(subject, dict) and _is_subject(subject) for subject in subjects or ())
    )


def _is_subject(body: Body) -> bool:
    return (
        body.keys() <= _TEXTS | _OBJECTS
        and all(isinstance(body.get(key), str | None) for key in _TEXTS)
        and all(isinstance(body.get(key), dict | None) for key in _OBJECTS)
        and all(isinstance(value, str) for value in (body.get("digest") or {}).values())
    )


def verify_envelope(layer: SignedLayer, verifier: KeyVerifier) -> None:
    """Require a DSSE envelope with a signature of the key, whatever its key id. Raises
    SignatureError; UndecidedError for too many of them."""
    envelope = read_object(layer.payload, "dsse.Envelope")
    kind = field(envelope, "payloadType") or ""
    if kind != IN_TOTO:
        raise SignatureError(f"invalid payloadType {kind} on envelope. Expected {IN_TOTO}")
    signatures = field(envelope, "signatures") or []
    if not isinstance(signatures, list) or not all(isinstance(entry, dict) for entry in signatures):
        raise SignatureError("json: signatures of the envelope are not a list of objects")
    if not signatures:
        raise SignatureError("no signature found")
    signed = encoded(kind, _any_base64(field(envelope, "payload")))
    if len(signatures) > _MOST_SIGNATURES:
        raise UndecidedError(f"an envelope has more than {_MOST_SIGNATURES} signatures")
    for entry in signatures:
        signature = _any_base64(field(entry, "sig"))
        try:
            verifier.verify(signature, signed)
        except SignatureError:
            continue
        return
    raise SignatureError("accepted signatures do not match threshold, Found: 0, Expected 1")


def encoded(payload_type: str, payload: bytes) -> bytes:
    """Return the pre-authentication encoding of a DSSE envelope, which is what is signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def read_statement(content: bytes) -> Body:
    """The statement of an attestation as Kyverno's conditions see it; raises SignatureError."""
    with within("error decoding the payload"):
        read_simple(content)
    with within("failed to unmarshal JSON payload"):
        body = read_object(content)
    if "payload" not in body:
        raise SignatureError(f"missing payload in {go_sprint(body)}")
    text = content.decode(errors="replace")
    with within(f"failed to decode statement {text}"):
        statement = _statement(_payload_of(body))
    return {**statement, "type": statement["predicateType"]}


def _statement(content: bytes) -> Body:
    """Return the members that Kyverno's type of a statement has, and no others."""
    body = read_object(content)
    made: Body = {
        "_type": _text(body, "_type", "Statement"),
        "predicateType": _text(body, "predicateType", "Statement"),
        "subject": _subjects(body.get("subject")),
        "predicate": body.get("predicate"),
    }
    if made["_type"] != _CUSTOM:
        return made
    predicate = made["predicate"]
    if not isinstance(predicate, dict):
        raise SignatureError("failed to decode CosignCustomProvenanceV01")
    data = predicate.get("Data")
    if data is None:
        raise SignatureError("missing predicate in CosignCustomProvenanceV01")
    if isinstance(data, str):
        try:
            data = read_object(data.encode())
        except SignatureError:
            return made
        made["predicate"] = {**predicate, "Data": data}
    return made


def _subjects(value: Json) -> Json:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, dict | None) for item in value):
        raise SignatureError("json: subject is not a list of objects")
    return [
        {"name": _text(item or {}, "name", "Subject.subject"), "digest": (item or {}).get("digest")}
        for item in value
    ]


def _payload_of(envelope: Body) -> bytes:
    value = field(envelope, "payload")
    if not isinstance(value, str):
        raise SignatureError("json: payload of the envelope is not a text")
    return from_base64(value)


def _any_base64(value: Json) -> bytes:
    """Return the bytes of base64 in either alphabet, as DSSE reads it."""
    wrong = "unable to base64 decode payload (is payload in the right format?)"
    if not isinstance(value or "", str):
        raise SignatureError(wrong)
    try:
        return from_base64((value or "").replace("-", "+").replace("_", "/"))
    except SignatureError:
        raise SignatureError(wrong) from None


def _text(body: Body, key: str, go_field: str) -> str:
    """Return a text member, empty for none. go_field: the Go struct of the field, and its path."""
    for value in values(body, key):
        if not isinstance(value, str | None):
            raise wrong(value, f"Go struct field {go_field}.{key} of type string")
    return text_of(field(body, key))
