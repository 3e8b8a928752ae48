"""Sigstore bundles (v0.1 to v0.3) as documents, with their entries of transparency logs: read and
checked for form, nothing verified.

The rules follow sigstore-go 1.3.0 (`bundle.Bundle`, `tlog.ParseTransparencyLogEntry`). Of Rekor 1
there are entries for DSSE envelopes (`dsse`, `intoto`) and for digests (`hashedrekord`), of Rekor 2
those for digests alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sigstore_models.common.v1 import HashAlgorithm, PublicKeyDetails

from chartkit.addons.signatures.bundles.protojson import Message, MessageError, load
from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import public_key, read_certificate
from chartkit.addons.signatures.trust.keys import (
    HASHES,
    PublicKey,
    read_key_der,
    read_pem,
    verify_digest,
)
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body, Json

_BASE: Final = "application/vnd.dev.sigstore.bundle"
_OLD: Final = {f"{_BASE}+json;version=0.{minor}": (0, minor, 0) for minor in (1, 2, 3)}
_NEW: Final = re.compile(
    re.escape(_BASE) + r"\.v(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?(?:\.(0|[1-9]\d{0,8}))?\+json"
)
_MOST_ENTRIES: Final = 32
_ROOT_FIELDS: Final = ("mediaType", "verificationMaterial", "messageSignature", "dsseEnvelope")
_CONTENT: Final = ("messageSignature", "dsseEnvelope")
_KEYS: Final = ("publicKey", "x509CertificateChain", "certificate")
_MATERIAL_FIELDS: Final = (*_KEYS, "tlogEntries", "timestampVerificationData")
_HASHES: Final = {
    "HASH_ALGORITHM_UNSPECIFIED": "",
    "SHA2_256": "sha256",
    "SHA2_384": "sha384",
    "SHA2_512": "sha512",
    "SHA3_256": "",
    "SHA3_384": "",
}
"""Algorithms by name, in the order of their numbers; empty: known and not supported."""
_HASH_NUMBERS: Final = tuple(_HASHES.values())
_ENTRY_FIELDS: Final[Collection[str]] = (
    "logIndex",
    "logId",
    "kindVersion",
    "integratedTime",
    "inclusionPromise",
    "inclusionProof",
    "canonicalizedBody",
)
REKOR_2: Final = "hashedrekord 0.0.2"
DSSE: Final = "dsse 0.0.1"
IN_TOTO: Final = "intoto 0.0.2"
HASHED: Final = "hashedrekord 0.0.1"
_ALGORITHMS: Final = frozenset(HashAlgorithm.__members__)
_KEY_DETAILS: Final = frozenset(PublicKeyDetails.__members__)


@dataclass(frozen=True, slots=True)
class Envelope:
    """DSSE: a payload and signatures, each with the name of its key."""

    payload: bytes
    payload_type: str
    signatures: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class MessageSignature:
    """algorithm: of the digest, as hashlib names it; empty for one that is not supported."""

    digest: bytes
    algorithm: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Bundle:
    """version: of the format; certificate: the signer's (DER), None where a key signed; entries:
    of transparency logs; timestamps: RFC 3161 responses; either envelope or message is set."""

    version: tuple[int, int, int]
    certificate: bytes | None
    entries: tuple[LogEntry, ...]
    timestamps: tuple[bytes, ...]
    envelope: Envelope | None
    message: MessageSignature | None

    @property
    def signature(self) -> bytes:
        """The bytes that logs and time stamps refer to."""
        if self.envelope is not None:
            return self.envelope.signatures[0][1] if self.envelope.signatures else b""
        return self.message.signature if self.message is not None else b""


def read_bundle(content: bytes) -> Bundle:
    """Return a bundle of its JSON; raises SignatureError."""
    try:
        root = Message(load(content), "the bundle", _ROOT_FIELDS, (_CONTENT,))
        media_type = root.text("mediaType")
        match = _NEW.fullmatch(media_type)
        if match is None and media_type not in _OLD:
            raise SignatureError(
                "error getting bundle version: validation error: unsupported media type: "
                f"{media_type[:100]}"
            )
        if match is None:
            version: tuple[int, int, int] = _OLD[media_type]
        else:
            major, minor, patch = (int(part or "0") for part in match.groups())
            version = major, minor, patch
        if version < (0, 1, 0):
            raise SignatureError(f"{_named(root)} is not supported")
        envelope, message = _envelope(root), _message(root)
        material = root.message("verificationMaterial", _MATERIAL_FIELDS, (_KEYS,))
        if envelope is None and message is None:
            raise SignatureError("invalid bundle: validation error: missing bundle content")
        if material is None or not any(material.has(name) for name in _KEYS):
            raise SignatureError("invalid bundle: validation error: missing verification material")
        certificate = _certificate(material)
        timestamp_message = material.message("timestampVerificationData", ("rfc3161Timestamps",))
        if timestamp_message is None:
            timestamps: tuple[bytes, ...] = ()
        else:
            listed = timestamp_message.messages("rfc3161Timestamps", ("signedTimestamp",))
            timestamps = tuple(stamp.octets("signedTimestamp") for stamp in listed)
        listed = material.messages("tlogEntries", _ENTRY_FIELDS)
        if len(listed) > _MOST_ENTRIES:
            text = f"validation error: too many tlog entries: {len(listed)} > {_MOST_ENTRIES}"
            raise SignatureError(text)
        with within("validation error"):
            entries = tuple(read_entry(message) for message in listed)
        if version == (0, 1, 0):
            if entries and not any(entry.promise for entry in entries):
                text = "inclusion promises missing in bundle (required for bundle v0.1)"
                raise SignatureError(text)
        elif entries and not any(entry.proof for entry in entries):
            raise SignatureError("inclusion proof missing in bundle (required for bundle v0.2)")
        if version >= (0, 3, 0) and material.has("x509CertificateChain"):
            text = "verification material cannot be X.509 certificate chain (for bundle v0.3)"
            raise SignatureError(text)
        if version >= (0, 4, 0):
            raise SignatureError(f"{_named(root)} is not yet supported")
        return Bundle(version, certificate, entries, timestamps, envelope, message)
    except MessageError as error:
        raise SignatureError(f"proto: {error}") from None


def _named(root: Message) -> str:
    """Return the error of a version."""
    text = root.text("mediaType").rpartition(".v")[2].removesuffix("+json")
    return f"validation error: unsupported media type: bundle version v{text}"


def _envelope(root: Message) -> Envelope | None:
    message = root.message("dsseEnvelope", ("payload", "payloadType", "signatures"))
    if message is None:
        return None
    signatures = message.messages("signatures", ("sig", "keyid"))
    pairs = tuple((signature.text("keyid"), signature.octets("sig")) for signature in signatures)
    return Envelope(message.octets("payload"), message.text("payloadType"), pairs)


def _message(root: Message) -> MessageSignature | None:
    message = root.message("messageSignature", ("messageDigest", "signature"))
    if message is None:
        return None
    digest = message.message("messageDigest", ("algorithm", "digest"))
    if digest is None:
        return MessageSignature(b"", "", message.octets("signature"))
    value = digest.value("algorithm")
    if isinstance(value, str) and value in _HASHES:
        algorithm = _HASHES[value]
    elif isinstance(value, int) or value is None:
        number = digest.integer("algorithm")
        algorithm = _HASH_NUMBERS[number] if 0 <= number < len(_HASH_NUMBERS) else ""
    else:
        raise MessageError("invalid value for the bundle's messageDigest.algorithm")
    return MessageSignature(digest.octets("digest"), algorithm, message.octets("signature"))


def _certificate(material: Message) -> bytes | None:
    """Return the signer's certificate, or None for a key."""
    message = material.message("certificate", ("rawBytes",))
    chain = material.message("x509CertificateChain", ("certificates",))
    key = material.message("publicKey", ("hint",))
    if key is not None:
        key.text("hint")
        return None
    if chain is not None:
        listed = [item.octets("rawBytes") for item in chain.messages("certificates", ("rawBytes",))]
        return listed[0] if listed else b""
    return message.octets("rawBytes") if message is not None else b""


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """A proof that an entry is in a log's tree. checkpoint: the log's signed state of the tree."""

    index: int
    size: int
    root: bytes
    hashes: tuple[bytes, ...]
    checkpoint: str


@dataclass(frozen=True, slots=True)
class EntryBody:
    """The content of a log's entry. kind: of the entry, with its version; verifier: the certificate
    or public key (DER); digest: of what was signed, in hexadecimals; algorithm: the digest's;
    fault: what makes an entry useless, which matters when it is asked for."""

    kind: str
    signature: bytes = b""
    verifier: bytes = b""
    digest: str = ""
    algorithm: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """integrated: seconds since 1970 when it was taken in, 0 where the log does not say; promise:
    the log's signature that it will be."""

    index: int
    log: bytes
    integrated: int
    promise: bytes
    proof: InclusionProof | None
    body: bytes
    logged: EntryBody


def read_entry(message: Message) -> LogEntry:
    """Return an entry of a bundle's `tlogEntries`; raises MessageError, or SignatureError for one
    that is incomplete."""
    log = message.message("logId", ("keyId",))
    kind = message.message("kindVersion", ("kind", "version"))
    index, body = message.integer("logIndex"), message.octets("canonicalizedBody")
    promise = message.message("inclusionPromise", ("signedEntryTimestamp",))
    inclusion_proof = message.message(
        "inclusionProof", ("logIndex", "rootHash", "treeSize", "hashes", "checkpoint")
    )
    if inclusion_proof is None:
        proof: InclusionProof | None = None
    else:
        checkpoint = inclusion_proof.message("checkpoint", ("envelope",))
        if checkpoint is None:
            raise SignatureError("inclusion proof missing required checkpoint")
        if not (envelope := checkpoint.text("envelope")):
            raise SignatureError("inclusion proof checkpoint empty")
        proof = InclusionProof(
            inclusion_proof.integer("logIndex"),
            inclusion_proof.integer("treeSize"),
            inclusion_proof.octets("rootHash"),
            inclusion_proof.octets_list("hashes"),
            envelope,
        )
    if not body or index < 0 or log is None or not log.octets("keyId") or kind is None:
        raise SignatureError("validation error: nil value in transaction log entry")
    return LogEntry(
        index,
        log.octets("keyId"),
        message.integer("integratedTime"),
        promise.octets("signedEntryTimestamp") if promise is not None else b"",
        proof,
        body,
        _logged(body),
    )


def _logged(body: bytes) -> EntryBody:
    try:
        value = load(body.decode("utf-8", "replace"))
        kind = f"{value['kind']} {value['apiVersion']}"
        if kind == REKOR_2:
            return EntryBody(kind, fault=_fault_of_rekor_2(value))
        return _READERS[kind](value["spec"])
    except (ValueError, KeyError, TypeError, IndexError, SignatureError):
        raise SignatureError("entry body is not a recognizable Rekor v1 or Rekor v2 type") from None


def _fault_of_rekor_2(value: Json) -> str:
    """Return the fault of an incomplete entry; raises MessageError for an invalid one. Its content
    is not read but made again from the bundle."""
    entry = Message(value, "the entry", ("kind", "apiVersion", "spec"))
    spec = entry.message("spec", ("hashedRekordV002",))
    record = spec.message("hashedRekordV002", ("data", "signature")) if spec else None
    if record is None:
        raise MessageError("the entry is of no known kind")
    data = record.message("data", ("algorithm", "digest"))
    if data is not None:
        data.octets("digest")
        _check_name(data, "algorithm", _ALGORITHMS)
    signature = record.message("signature", ("content", "verifier"))
    if signature is None or not signature.octets("content"):
        return "missing signature"
    keys = ("publicKey", "x509Certificate")
    verifier = signature.message("verifier", (*keys, "keyDetails"), (keys,))
    if verifier is None:
        return "missing verifier"
    _check_name(verifier, "keyDetails", _KEY_DETAILS)
    messages = [verifier.message(key, ("rawBytes",)) for key in keys]
    if not any(message is not None and message.octets("rawBytes") for message in messages):
        return "missing key"
    return "" if data is not None else "missing digest"


def _check_name(message: Message, field: str, names: frozenset[str]) -> None:
    value = message.value(field)
    if isinstance(value, str) and value not in names and not value.endswith("_UNSPECIFIED"):
        raise MessageError(f"{field} is unknown")
    if not isinstance(value, str):
        message.integer(field)


def _dsse(spec: Json) -> EntryBody:
    first = spec["signatures"][0]
    _payload(spec["envelopeHash"])
    verifier = _first_block(_octets(first["verifier"]))
    return EntryBody(DSSE, _octets(first["signature"]), verifier, *_payload(spec["payloadHash"]))


def _in_toto(spec: Json) -> EntryBody:
    content = spec["content"]
    first = content["envelope"]["signatures"][0]
    verifier = _first_block(_octets(first["publicKey"]))
    signature = base64.b64decode(_octets(first["sig"]), validate=True)
    return EntryBody(IN_TOTO, signature, verifier, *_payload(content["payloadHash"]))


def _payload(hashed: Body) -> tuple[str, str]:
    """Return the hash of a payload, which is SHA-256."""
    if hashed["algorithm"] != "sha256":
        raise MessageError("an unknown hash")
    return str(hashed["value"]), "sha256"


def _hashedrekord(spec: Json) -> EntryBody:
    signature, hashed = spec["signature"], spec["data"]["hash"]
    algorithm = hashed["algorithm"]
    if algorithm not in ("sha256", "sha384", "sha512"):
        raise MessageError("an unknown hash")
    verifier = _first_block(_octets(signature["publicKey"]["content"]))
    content, digest = _octets(signature["content"]), bytes.fromhex(hashed["value"])
    if len(digest) != HASHES[algorithm].digest_size:
        raise MessageError("no digest")
    try:
        key: PublicKey = public_key(read_certificate(verifier))
    except SignatureError:
        key = read_key_der(verifier)
    if not isinstance(key, Ed25519PublicKey):
        verify_digest(key, content, digest, algorithm)
    return EntryBody(HASHED, content, verifier, digest.hex(), algorithm)


_READERS: Final = {DSSE: _dsse, IN_TOTO: _in_toto, HASHED: _hashedrekord}


def _octets(text: Json) -> bytes:
    if not isinstance(text, str):
        raise MessageError("no base64")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise MessageError("no base64") from None


def _first_block(pem: bytes) -> bytes:
    """Return the content of the first block of a PEM text, empty for none."""
    blocks, _ = read_pem(pem.decode("ascii", "replace"))
    return blocks[0].content if blocks else b""
