"""Public keys and what they verify, as the field's signing libraries load and use them.

The primitives come from `cryptography`; messages are sigstore's own (Go).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
    encode_dss_signature,
)

from chartkit.addons.signatures.errors import within
from chartkit.engine.ports.signatures import KeySource, SignatureError, UnknownKeyError
from chartkit.network.cluster.cleaning import SCHEME, key_text

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey

HASHES: Final[Mapping[str, hashes.HashAlgorithm]] = {
    "": hashes.SHA256(),
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}
"""By the names that policies have for them."""

_P1363: Final = 132
"""Bytes of the longest signature that is two plain numbers: P-521."""
_BEGIN: Final = "-----BEGIN "
_DASHES: Final = "-----"
_CURVES: Final = frozenset(("secp224r1", "secp256r1", "secp384r1", "secp521r1"))
"""Those that Go knows."""


@dataclass(frozen=True, slots=True)
class PemBlock:
    """One block of a PEM file: what it says to be, and its bytes."""

    label: str
    content: bytes


def read_pem(text: str) -> tuple[list[PemBlock], bool]:
    """Return the blocks of a PEM file, and whether anything but white space stands after the last
    one. As Go's decoder: what stands before a block is passed over, as is one that is not
    base64."""
    blocks: list[PemBlock] = []
    position, read = 0, 0
    while (start := text.find(_BEGIN, position)) >= 0:
        position = start + len(_BEGIN)
        line_end = text.find("\n", position)
        label = text[position:line_end].rstrip(" \t\r")
        if line_end < 0 or (start and text[start - 1] != "\n") or not label.endswith(_DASHES):
            continue
        last = f"\n-----END {label}"
        end = text.find(last, line_end)
        if end < 0:
            break
        position = end + len(last)
        body = text[line_end:end]
        head, separator, rest = body.lstrip("\r\n").partition("\n\n")
        base64_text = rest if separator and ":" in head else body
        try:
            content: bytes | None = base64.b64decode("".join(base64_text.split()), validate=True)
        except (binascii.Error, ValueError):
            content = None
        if content is not None:
            blocks.append(PemBlock(label.removesuffix(_DASHES), content))
            read = position
    return blocks, bool(text[read:].strip())


def read_public_key(text: str) -> PublicKey:
    """Return the first public key of a PEM file; raises SignatureError."""
    blocks, _ = read_pem(text)
    if not blocks:
        raise SignatureError("PEM decoding failed")
    label = blocks[0].label
    if label not in ("PUBLIC KEY", "RSA PUBLIC KEY"):
        raise SignatureError(
            f"unknown Public key PEM file type: {label}. Are you passing the correct public key?"
        )
    return read_key_der(blocks[0].content)


def read_key_der(content: bytes) -> PublicKey:
    """Return a public key in DER; raises SignatureError for an invalid or unsupported one."""
    try:
        key = serialization.load_der_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError("x509: failed to parse public key") from None
    return supported(key)


def supported(key: object) -> PublicKey:
    """Return a key of a kind that sigstore takes; raises SignatureError for any other."""
    if not isinstance(key, PublicKey):
        raise SignatureError("unsupported public key type")
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in _CURVES:
        raise SignatureError("x509: unsupported elliptic curve")
    return key


def key_der(key: PublicKey) -> bytes:
    """Return the key as X.509 has it."""
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def key_pem(key: PublicKey) -> str:
    """Return the key in PEM, with a line break at the end."""
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def log_id(key: PublicKey) -> bytes:
    """Return a log's identifier of a key (RFC 6962, 3.2)."""
    return hashlib.sha256(key_der(key)).digest()


@dataclass(frozen=True, slots=True)
class KeyVerifier:
    """A key with the hash that its signatures are of; Ed25519 hashes by itself."""

    key: PublicKey
    algorithm: hashes.HashAlgorithm = field(default_factory=hashes.SHA256)

    def verify(self, signature: bytes, message: bytes) -> None:
        """Raises SignatureError where the signature is not this key's over the message."""
        if isinstance(self.key, ec.EllipticCurvePublicKey):
            _verify_ecdsa(self.key, signature, message, ec.ECDSA(self.algorithm))
            return
        try:
            if isinstance(self.key, rsa.RSAPublicKey):
                self.key.verify(signature, message, padding.PKCS1v15(), self.algorithm)
            else:
                self.key.verify(signature, message)
        except InvalidSignature:
            is_rsa = isinstance(self.key, rsa.RSAPublicKey)
            text = "crypto/rsa: verification error" if is_rsa else "failed to verify signature"
            raise SignatureError(text) from None


def key_verifier(key: PublicKey, algorithm: str) -> KeyVerifier:
    """Return a key with the hash that a policy says it signs with, one of `HASHES`; raises
    SignatureError for one that sigstore never uses with such a key."""
    if isinstance(key, rsa.RSAPublicKey) and algorithm == "sha224":
        raise SignatureError("invalid hash function specified")
    return KeyVerifier(key, HASHES[algorithm])


def verify_digest(key: PublicKey, signature: bytes, digest: bytes, algorithm: str) -> None:
    """Require a signature of a message, given by its digest; algorithm: of the hash, in policies'
    names. Raises SignatureError; always for Ed25519, which signs only whole messages."""
    prehashed = Prehashed(HASHES[algorithm])
    if isinstance(key, ec.EllipticCurvePublicKey):
        _verify_ecdsa(key, signature, digest, ec.ECDSA(prehashed))
        return
    if not isinstance(key, rsa.RSAPublicKey):
        raise SignatureError("failed to verify signature")
    try:
        key.verify(signature, digest, padding.PKCS1v15(), prehashed)
    except InvalidSignature:
        raise SignatureError("crypto/rsa: verification error") from None


def _verify_ecdsa(
    key: ec.EllipticCurvePublicKey, signature: bytes, message: bytes, algorithm: ec.ECDSA
) -> None:
    """Verify a signature of ECDSA in DER, or as two plain numbers (IEEE P1363)."""
    encoding, der = "ASN.1", signature
    try:
        decode_dss_signature(signature)
    except ValueError:
        encoding = "IEEE_P1363"
        if not signature or len(signature) > _P1363 or len(signature) % 2:
            raise SignatureError("ecdsa: Invalid IEEE_P1363 encoded bytes") from None
        half = len(signature) // 2
        numbers = (int.from_bytes(signature[:half]), int.from_bytes(signature[half:]))
        der = encode_dss_signature(*numbers)
    try:
        key.verify(der, message, algorithm)
    except InvalidSignature:
        text = f"invalid signature when validating {encoding} encoded signature"
        raise SignatureError(text) from None


def load_key(reference: str, keys: KeySource, what: str) -> PublicKey:
    """Return the public key that a reference leads to; what: the words before the reason of a
    fault. Raises SignatureError in cosign's words, UnknownKeyError for a key of an unsupported
    kind."""
    if not reference.startswith(SCHEME):
        raise UnknownKeyError(
            f"failed to load public key from {reference}: keys in key management services, files "
            "and at addresses are not read",
            hint="give the public key itself, in PEM",
        )
    try:
        with within(what):
            return read_public_key(key_text(reference, keys))
    except UnknownKeyError as error:
        raise UnknownKeyError(f"{what}: {error.message}", hint=error.hint) from None
