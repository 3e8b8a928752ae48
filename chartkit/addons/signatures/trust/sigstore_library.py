"""Functions of sigstore's own library, public and private, behind narrow ones.

Nothing else in chartkit imports `sigstore._internal`. Every function raises SignatureError where
what it verifies does not hold.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

import rfc8785
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.certificate_transparency import SignedCertificateTimestamp
from sigstore._internal.merkle import verify_merkle_inclusion
from sigstore._internal.rekor.checkpoint import verify_checkpoint as _verify_checkpoint
from sigstore._internal.sct import _get_issuer_cert, _pack_digitally_signed
from sigstore._internal.trust import Keyring, RekorKeyring
from sigstore._utils import KeyID, key_id, read_embedded
from sigstore.errors import Error
from sigstore.models import TransparencyLogEntry
from sigstore_models.common.v1 import LogId, PublicKeyDetails
from sigstore_models.common.v1 import PublicKey as ListedKey
from sigstore_models.rekor.v1 import (
    Checkpoint,
    InclusionProof,
    KindVersion,
)
from sigstore_models.rekor.v1 import (
    TransparencyLogEntry as ListedEntry,
)

from chartkit.addons.signatures.trust.certificates import extension
from chartkit.addons.signatures.trust.keys import PublicKey, key_der
from chartkit.engine.ports import SignatureError

_PUBLIC_INSTANCE: Final = "https://tuf-repo-cdn.sigstore.dev"


def embedded_trusted_root() -> str:
    """Return the trusted root of the public instance, which the library contains."""
    return read_embedded("trusted_root.json", _PUBLIC_INSTANCE).decode()


def verify_promise(
    *,
    body: bytes,
    integrated_time: int,
    log_index: int,
    log_id: bytes,
    promise: bytes,
    key: PublicKey,
) -> None:
    """Require a log's promise to include an entry (signed entry timestamp); integrated_time:
    seconds."""
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise SignatureError("unable to verify SET")
    promised: dict[str, str | int] = {
        "body": base64.b64encode(body).decode(),
        "integratedTime": integrated_time,
        "logIndex": log_index,
        "logID": log_id.hex(),
    }
    try:
        key.verify(promise, rfc8785.dumps(promised), ec.ECDSA(SHA256()))
    except (InvalidSignature, rfc8785.CanonicalizationError):
        raise SignatureError("unable to verify SET") from None


def verify_inclusion(
    *, body: bytes, log_index: int, tree_size: int, root_hash: bytes, hashes: Sequence[bytes]
) -> None:
    """Require an entry to be in the tree with a root hash (RFC 6962, 2.1.1)."""
    entry = _entry(body, log_index, tree_size, root_hash, hashes, b"", "-")
    try:
        verify_merkle_inclusion(entry)
    except Error as error:
        raise SignatureError(str(error)) from None


def verify_checkpoint(*, checkpoint: str, root_hash: bytes, log_id: bytes, key: PublicKey) -> None:
    """Require a checkpoint signed by a log, of the tree with this root hash."""
    entry = _entry(b"", 0, 1, root_hash, (), log_id, checkpoint)
    try:
        _verify_checkpoint(RekorKeyring(_keyring(key)), entry)
    except (Error, ValueError) as error:
        raise SignatureError(str(error)) from None


def certificate_timestamps(certificate: x509.Certificate) -> Sequence[SignedCertificateTimestamp]:
    """Return the promises of certificate logs that a certificate contains."""
    found = extension(certificate, x509.PrecertificateSignedCertificateTimestamps)
    return () if found is None else list(found.value)


def verify_certificate_timestamp(
    certificate: x509.Certificate,
    promised: SignedCertificateTimestamp,
    issuers: Sequence[x509.Certificate],
    key: PublicKey,
) -> None:
    """Require a promise in a certificate, by the key of its log; issuers: its own first."""
    if not issuers:
        raise SignatureError("certificate chain must contain at least a certificate and its issuer")
    issuer = _get_issuer_cert([*issuers, issuers[-1]]).public_key()
    if not isinstance(issuer, PublicKey):
        raise SignatureError("unsupported public key type")
    if not isinstance(promised.signature_hash_algorithm, SHA256):
        raise SignatureError("unsupported hash algorithm of the log's signature")
    try:
        signed = _pack_digitally_signed(promised, certificate, key_id(issuer))
        log = KeyID(promised.log_id)
        _keyring(key).verify(key_id=log, signature=promised.signature, data=signed)
    except Error as error:
        raise SignatureError(str(error)) from None


def _entry(
    body: bytes,
    log_index: int,
    tree_size: int,
    root_hash: bytes,
    path: Sequence[bytes],
    log_id: bytes,
    checkpoint: str,
) -> TransparencyLogEntry:
    try:
        proof = InclusionProof.model_construct(
            log_index=log_index,
            root_hash=root_hash,
            tree_size=tree_size,
            hashes=list(path),
            checkpoint=Checkpoint(envelope=checkpoint),
        )
        listed = ListedEntry.model_construct(
            log_index=log_index,
            log_id=LogId.model_construct(key_id=log_id),
            kind_version=KindVersion(kind="", version=""),
            inclusion_proof=proof,
            canonicalized_body=body,
        )
        return TransparencyLogEntry(listed)
    except (Error, ValueError) as error:
        raise SignatureError(str(error)) from None


_CURVES: Final = {
    "secp256r1": PublicKeyDetails.PKIX_ECDSA_P256_SHA_256,
    "secp384r1": PublicKeyDetails.PKIX_ECDSA_P384_SHA_384,
    "secp521r1": PublicKeyDetails.PKIX_ECDSA_P521_SHA_512,
}


def _keyring(key: PublicKey) -> Keyring:
    details = PublicKeyDetails.PKIX_ED25519
    if isinstance(key, ec.EllipticCurvePublicKey):
        public_key_details = _CURVES.get(key.curve.name)
        if public_key_details is None:
            raise SignatureError(f"unsupported curve of a log's key: {key.curve.name}")
        details = public_key_details
    elif isinstance(key, rsa.RSAPublicKey):
        details = PublicKeyDetails.PKIX_RSA_PKCS1V15_2048_SHA256
    raw = base64.b64encode(key_der(key))
    return Keyring([ListedKey(raw_bytes=raw, key_details=details)])
