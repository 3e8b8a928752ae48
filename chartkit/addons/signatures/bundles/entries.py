"""Entries of transparency logs in a Sigstore bundle: read, and compared with the bundle.

Of Rekor 1 there are entries for DSSE envelopes (`dsse`, `intoto`) and for digests (`hashedrekord`),
of Rekor 2 those for digests alone. The rules are sigstore-go's (`tlog.ParseTransparencyLogEntry`).
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sigstore_models.common.v1 import HashAlgorithm, PublicKeyDetails

from chartkit.addons.signatures.bundles.protojson import Message, MessageError, load
from chartkit.addons.signatures.trust.certificates import public_key, read_certificate
from chartkit.addons.signatures.trust.keys import (
    HASHES,
    PublicKey,
    read_key_der,
    read_pem,
    verify_digest,
)
from chartkit.engine.ports import SignatureError
from chartkit.model import Body, Json

REKOR_2: Final = "hashedrekord 0.0.2"
_DSSE: Final = "dsse 0.0.1"
_IN_TOTO: Final = "intoto 0.0.2"
_HASHED: Final = "hashedrekord 0.0.1"
_ALGORITHMS: Final = frozenset(HashAlgorithm.__members__)
_DETAILS: Final = frozenset(PublicKeyDetails.__members__)


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

    @property
    def is_payload(self) -> bool:
        """Tell whether the digest is a DSSE payload's."""
        return self.kind in (_DSSE, _IN_TOTO)

    @property
    def is_hash(self) -> bool:
        return self.kind == _HASHED


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
    proof = _proof(message)
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


def _proof(message: Message) -> InclusionProof | None:
    found = message.message(
        "inclusionProof", ("logIndex", "rootHash", "treeSize", "hashes", "checkpoint")
    )
    if found is None:
        return None
    checkpoint = found.message("checkpoint", ("envelope",))
    if checkpoint is None:
        raise SignatureError("inclusion proof missing required checkpoint")
    if not (envelope := checkpoint.text("envelope")):
        raise SignatureError("inclusion proof checkpoint empty")
    return InclusionProof(
        found.integer("logIndex"),
        found.integer("treeSize"),
        found.octets("rootHash"),
        found.octets_list("hashes"),
        envelope,
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
    """Return what an entry lacks; raises MessageError for an invalid one. Its content is not read
    but made again from the bundle."""
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
    _check_name(verifier, "keyDetails", _DETAILS)
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
    return EntryBody(_DSSE, _octets(first["signature"]), verifier, *_payload(spec["payloadHash"]))


def _in_toto(spec: Json) -> EntryBody:
    content = spec["content"]
    first = content["envelope"]["signatures"][0]
    verifier = _first_block(_octets(first["publicKey"]))
    signature = base64.b64decode(_octets(first["sig"]), validate=True)
    return EntryBody(_IN_TOTO, signature, verifier, *_payload(content["payloadHash"]))


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
    key = _key(verifier)
    if not isinstance(key, Ed25519PublicKey):
        verify_digest(key, content, digest, algorithm)
    return EntryBody(_HASHED, content, verifier, digest.hex(), algorithm)


def _key(verifier: bytes) -> PublicKey:
    try:
        return public_key(read_certificate(verifier))
    except SignatureError:
        return read_key_der(verifier)


_READERS: Final = {
    _DSSE: _dsse,
    _IN_TOTO: _in_toto,
    _HASHED: _hashedrekord,
}


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
