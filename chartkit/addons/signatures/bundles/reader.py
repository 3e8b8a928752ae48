"""Sigstore bundles (v0.1 to v0.3) as documents: read and checked for form, nothing verified.

The rules are those of sigstore-go 1.3.0 (`bundle.Bundle`); what is asked of a bundle's contents is
in `bundle_verifier`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from chartkit.addons.signatures.bundles.entries import LogEntry, read_entry
from chartkit.addons.signatures.bundles.protojson import Message, MessageError, load
from chartkit.addons.signatures.errors import within
from chartkit.engine.ports import SignatureError

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
    "SHA2_256": "sha256",
    "SHA2_384": "sha384",
    "SHA2_512": "sha512",
    "SHA3_256": "",
    "SHA3_384": "",
    "HASH_ALGORITHM_UNSPECIFIED": "",
}
"""Algorithms by name; empty: known and not supported."""
_HASH_NUMBERS: Final = tuple(
    _HASHES[name]
    for name in (
        "HASH_ALGORITHM_UNSPECIFIED",
        "SHA2_256",
        "SHA2_384",
        "SHA2_512",
        "SHA3_256",
        "SHA3_384",
    )
)


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
        return _read(Message(load(content), "the bundle", _ROOT_FIELDS, (_CONTENT,)))
    except MessageError as error:
        raise SignatureError(f"proto: {error}") from None


def _read(root: Message) -> Bundle:
    version = _version(root.text("mediaType"))
    if version < (0, 1, 0):
        raise SignatureError(f"{_named(root)} is not supported")
    envelope, message = _envelope(root), _message(root)
    material = root.message("verificationMaterial", _MATERIAL_FIELDS, (_KEYS,))
    if envelope is None and message is None:
        raise SignatureError("invalid bundle: validation error: missing bundle content")
    if material is None or not any(material.has(name) for name in _KEYS):
        raise SignatureError("invalid bundle: validation error: missing verification material")
    certificate = _certificate(material)
    timestamps = _timestamps(material)
    entries = _entries(material)
    if version == (0, 1, 0):
        if entries and not any(entry.promise for entry in entries):
            raise SignatureError("inclusion promises missing in bundle (required for bundle v0.1)")
    elif entries and not any(entry.proof for entry in entries):
        raise SignatureError("inclusion proof missing in bundle (required for bundle v0.2)")
    if version >= (0, 3, 0) and material.has("x509CertificateChain"):
        raise SignatureError(
            "verification material cannot be X.509 certificate chain (for bundle v0.3)"
        )
    if version >= (0, 4, 0):
        raise SignatureError(f"{_named(root)} is not yet supported")
    return Bundle(version, certificate, entries, timestamps, envelope, message)


def _version(media_type: str) -> tuple[int, int, int]:
    match = _NEW.fullmatch(media_type)
    if match is None and media_type not in _OLD:
        raise SignatureError(
            "error getting bundle version: validation error: unsupported media type: "
            f"{media_type[:100]}"
        )
    if match is None:
        return _OLD[media_type]
    major, minor, patch = (int(part or "0") for part in match.groups())
    return major, minor, patch


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
        listed = [each.octets("rawBytes") for each in chain.messages("certificates", ("rawBytes",))]
        return listed[0] if listed else b""
    return message.octets("rawBytes") if message is not None else b""


def _timestamps(material: Message) -> tuple[bytes, ...]:
    message = material.message("timestampVerificationData", ("rfc3161Timestamps",))
    if message is None:
        return ()
    listed = message.messages("rfc3161Timestamps", ("signedTimestamp",))
    return tuple(one.octets("signedTimestamp") for one in listed)


_ENTRY_FIELDS: Final[Collection[str]] = (
    "logIndex",
    "logId",
    "kindVersion",
    "integratedTime",
    "inclusionPromise",
    "inclusionProof",
    "canonicalizedBody",
)


def _entries(material: Message) -> tuple[LogEntry, ...]:
    listed = material.messages("tlogEntries", _ENTRY_FIELDS)
    if len(listed) > _MOST_ENTRIES:
        raise SignatureError(
            f"validation error: too many tlog entries: {len(listed)} > {_MOST_ENTRIES}"
        )
    with within("validation error"):
        return tuple(read_entry(message) for message in listed)
