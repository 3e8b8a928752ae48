"""Log entries of a bundle, verified as sigstore-go's `VerifyTlogEntry` does.

Promises, proofs and checkpoints are checked by sigstore-python's parts; what an entry must have in
common with its bundle is checked here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import rfc8785
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from chartkit.addons.signatures.bundles.reader import (
    DSSE,
    HASHED,
    IN_TOTO,
    REKOR_2,
    Bundle,
    InclusionProof,
    LogEntry,
)
from chartkit.addons.signatures.bundles.signers import Signer, encode
from chartkit.addons.signatures.trust.keys import key_der
from chartkit.addons.signatures.trust.trusted_root import (
    Log,
    verify_checkpoint,
    verify_inclusion,
    verify_promise,
)
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body

_REKOR_1_ORIGIN: Final = re.compile(r".* - [0-9]+$")
_SIGNATURES: Final = re.compile(
    r"(?:\u2014 \S+ (?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\n)+"
)
_LINES: Final = 4
"""Of a checkpoint at least: origin, size, root and what follows them."""
_LATEST: Final = 253402300799
"""The last second that a clock here can show."""
_RSA: Final = b"\xffPKIX-RSA-PKCS#1v1.5"
_DETAILS: Final = {
    "secp256r1": ("PKIX_ECDSA_P256_SHA_256", "SHA2_256", "sha256"),
    "secp384r1": ("PKIX_ECDSA_P384_SHA_384", "SHA2_384", "sha384"),
    "secp521r1": ("PKIX_ECDSA_P521_SHA_512", "SHA2_512", "sha512"),
    "ed25519": ("PKIX_ED25519_PH", "SHA2_512", "sha512"),
    "rsa 2048": ("PKIX_RSA_PKCS1V15_2048_SHA256", "SHA2_256", "sha256"),
    "rsa 3072": ("PKIX_RSA_PKCS1V15_3072_SHA256", "SHA2_256", "sha256"),
    "rsa 4096": ("PKIX_RSA_PKCS1V15_4096_SHA256", "SHA2_256", "sha256"),
}
"""Of a kind of key: sigstore's names for it and for its hash, and hashlib's."""


def verify_entries(
    bundle: Bundle, signer: Signer | None, logs: Mapping[bytes, Log]
) -> Sequence[datetime]:
    """Return a time for each trusted log that promised to take an entry in; raises SignatureError
    without an entry that holds, and for any that does not fit. signer: None where the key is
    unknown."""
    names = [(log_entry.log, log_entry.index) for log_entry in bundle.entries]
    if len(set(names)) != len(names):
        raise SignatureError("duplicate tlog entries found")
    times: dict[bytes, datetime] = {}
    holds = False
    for entry in bundle.entries:
        if entry.logged.fault:
            raise SignatureError(entry.logged.fault)
        log = logs.get(entry.log)
        if log is not None and _holds(entry, bundle, signer, log):
            holds = True
            if entry.promise and (at := _time(entry)) is not None:
                times.setdefault(entry.log, at)
    if not holds:
        raise SignatureError("not enough verified log entries from transparency log: 0 < 1")
    return tuple(times.values())


def _holds(entry: LogEntry, bundle: Bundle, signer: Signer | None, log: Log) -> bool:
    """Report whether an entry holds, which it does not where the log's promise does not."""
    is_new = entry.logged.kind == REKOR_2
    if not entry.promise and entry.proof is None:
        raise SignatureError("entry must contain an inclusion proof and/or promise")
    if is_new and entry.proof is None:
        raise SignatureError("rekor v2 entries must have an inclusion proof")
    if entry.promise and (is_new or not _is_promised(entry, log)):
        return False
    if entry.proof is not None:
        _, separator, signatures = entry.proof.checkpoint.partition("\n\n")
        if not separator or _SIGNATURES.fullmatch(signatures) is None:
            raise SignatureError("unmarshalling signed note: malformed note")
        lines = entry.proof.checkpoint.split("\n")
        if len(lines) >= _LINES and _REKOR_1_ORIGIN.match(lines[0]):
            proof = entry.proof
            _verify_place(entry.body, proof, proof.index, proof.size, proof.root)
            verify_checkpoint(
                checkpoint=proof.checkpoint, root_hash=proof.root, log_id=entry.log, key=log.key
            )
        else:
            _verify_new_proof(entry, entry.proof, _expected(bundle, signer), log)
    if not is_new:
        _compare(entry, bundle, signer)
    at = _time(entry)
    if at is not None and (signer is None or not signer.is_valid_at(at)):
        raise SignatureError("integrated time outside certificate validity")
    return True


def _time(entry: LogEntry) -> datetime | None:
    if not entry.integrated:
        return None
    if not 0 < entry.integrated <= _LATEST:
        raise SignatureError("integrated time outside certificate validity")
    return datetime.fromtimestamp(entry.integrated, UTC)


def _is_promised(entry: LogEntry, log: Log) -> bool:
    """Report whether a log's promise holds, and was made while its key was valid."""
    at = _time(entry)
    if log.start is None or at is None or not log.is_valid(at):
        return False
    try:
        verify_promise(
            body=entry.body,
            integrated_time=entry.integrated,
            log_index=entry.index,
            log_id=entry.log,
            promise=entry.promise,
            key=log.key,
        )
    except SignatureError:
        return False
    return True


def _verify_place(body: bytes, proof: InclusionProof, index: int, size: int, root: bytes) -> None:
    if not 0 <= index < size:
        raise SignatureError(f"index is beyond size: {index} >= {size}")
    try:
        verify_inclusion(
            body=body, log_index=index, tree_size=size, root_hash=root, hashes=proof.hashes
        )
    except SignatureError:
        message = "the inclusion proof does not lead from the entry to the tree's root"
        raise SignatureError(message) from None


def _verify_new_proof(entry: LogEntry, proof: InclusionProof, body: bytes, log: Log) -> None:
    """Verify a proof of Rekor 2, whose checkpoints bear the log's host name: the entry is made from
    the bundle, whatever the bundle says it is."""
    if not log.url:
        message = "cannot verify Rekor v2 entry without baseUrl in transparency log's trusted root"
        raise SignatureError(message)
    failed = "verifying log entry: unverified checkpoint signature"
    try:
        host = urlsplit(log.url).hostname or ""
    except ValueError:
        text = f"the address of the transparency log is not valid: {log.url[:100]}"
        raise SignatureError(text) from None
    lines = proof.checkpoint.split("\n")
    if len(lines) < _LINES or lines[0] != host:
        raise SignatureError(f"{failed}: the checkpoint is not {host}'s")
    if not any(line.startswith(f"\u2014 {host} ") for line in lines):
        raise SignatureError(f"{failed}: it is not signed by {host}")
    try:
        size, root = int(lines[1]), base64.b64decode(lines[2], validate=True)
    except ValueError:
        raise SignatureError(f"{failed}: malformed checkpoint") from None
    key = log.key
    if isinstance(key, ec.EllipticCurvePublicKey):
        log_id = hashlib.sha256(key_der(key)).digest()
    else:
        if isinstance(key, ed25519.Ed25519PublicKey):
            named = b"\x01" + key.public_bytes_raw()
        else:
            named = _RSA + key_der(key)
        log_id = hashlib.sha256(host.encode() + b"\n" + named).digest()
    verify_checkpoint(checkpoint=proof.checkpoint, root_hash=root, log_id=log_id, key=log.key)
    _verify_place(body, proof, entry.index, size, root)


def _expected(bundle: Bundle, signer: Signer | None) -> bytes:
    """Return the entry that a bundle leads to in Rekor 2, in canonical JSON."""
    if signer is None:
        message = "public key not found in trusted material: public key verifier not found"
        raise SignatureError(message)
    key, kind = signer.key, ""
    if isinstance(key, ec.EllipticCurvePublicKey):
        kind = key.curve.name
    else:
        kind = f"rsa {key.key_size}" if isinstance(key, rsa.RSAPublicKey) else "ed25519"
    if kind not in _DETAILS:
        raise SignatureError("getting algorithm details from bundle key: unsupported key")
    details, algorithm, hash_name = _DETAILS[kind]
    if bundle.envelope is not None:
        digest = hashlib.new(hash_name, encode(bundle.envelope)).digest()
    else:
        digest = bundle.message.digest if bundle.message is not None else b""
    if signer.certificate is not None:
        content = signer.certificate.public_bytes(Encoding.DER)
        verifier: Body = {"x509Certificate": {"rawBytes": _text(content)}}
    else:
        verifier = {"publicKey": {"rawBytes": _text(key_der(key))}}
    record = {
        "data": {"algorithm": algorithm, "digest": _text(digest)},
        "signature": {
            "content": _text(bundle.signature),
            "verifier": {**verifier, "keyDetails": details},
        },
    }
    entry: Body = {
        "apiVersion": "0.0.2",
        "kind": "hashedrekord",
        "spec": {"hashedRekordV002": record},
    }
    return rfc8785.dumps(entry)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _compare(entry: LogEntry, bundle: Bundle, signer: Signer | None) -> None:
    logged = entry.logged
    if logged.signature != bundle.signature:
        raise SignatureError("transparency log signature does not match")
    if signer is None or not signer.is_logged_as(logged.verifier):
        raise SignatureError("transparency log certificate does not match")
    if bundle.envelope is not None:
        hashed = hashlib.sha256(bundle.envelope.payload).hexdigest()
        if logged.kind not in (DSSE, IN_TOTO):
            text = "transparency log rekor v1 entry is not a dsse_v001 or intoto_v002 entry"
            raise SignatureError(text)
        if hashed != logged.digest.lower():
            raise SignatureError(
                f"transparency log dsse/intoto entry payload hash {hashed} does not match envelope "
                f"payload hash {logged.digest[:128]}"
            )
        return
    message = bundle.message
    if message is None or logged.kind != HASHED:
        raise SignatureError("transparency log entry is not a hashedrekord or missing digest")
    if not message.algorithm:
        raise SignatureError("unsupported digest algorithm")
    if message.algorithm != logged.algorithm:
        raise SignatureError(
            "transparency log hashedrekord entry digest algorithm mismatch: "
            f"{message.algorithm} != {logged.algorithm}"
        )
    if message.digest.hex() != logged.digest.lower():
        raise SignatureError(
            f"transparency log hashedrekord entry digest {logged.digest[:128]} does not match "
            f"artifact {message.digest.hex()}"
        )
