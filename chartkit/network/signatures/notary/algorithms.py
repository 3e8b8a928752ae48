"""The algorithms of the Notary Project: which key signs with which, and whether a signature holds.

A key's kind and size decide (signature specification, "Algorithm Selection"); the primitives are
those of `cryptography`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from chartkit.engine.ports import SignatureError
from chartkit.network.signatures.trust.certificates import public_key


@dataclass(frozen=True, slots=True)
class Algorithm:
    """name: as JWS has it; label: as COSE has it; number: notation's own; size: bytes of each of
    the two numbers of an ECDSA signature, 0 for RSA."""

    name: str
    label: int
    number: int
    hashed: hashes.HashAlgorithm
    size: int = 0


_SHA256, _SHA384, _SHA512 = hashes.SHA256(), hashes.SHA384(), hashes.SHA512()
ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    one.name: one
    for one in (
        Algorithm("PS256", -37, 1, _SHA256),
        Algorithm("PS384", -38, 2, _SHA384),
        Algorithm("PS512", -39, 3, _SHA512),
        Algorithm("ES256", -7, 4, _SHA256, 32),
        Algorithm("ES384", -35, 5, _SHA384, 48),
        Algorithm("ES512", -36, 6, _SHA512, 66),
    )
}
LABELS: Final[Mapping[int, Algorithm]] = {one.label: one for one in ALGORITHMS.values()}
_BY_RSA_SIZE: Final = {2048: "PS256", 3072: "PS384", 4096: "PS512"}
_BY_CURVE_SIZE: Final = {256: "ES256", 384: "ES384", 521: "ES512"}


class KeyMismatchError(SignatureError):
    """A key of another kind than the algorithm is for."""


def algorithm_of(certificate: x509.Certificate) -> Algorithm:
    """Return the algorithm of a certificate's key; raises SignatureError for a key that may not
    sign."""
    key = public_key(certificate)
    if isinstance(key, rsa.RSAPublicKey):
        size = (key.key_size + 7) // 8 * 8
        if size not in _BY_RSA_SIZE:
            raise SignatureError(f"rsa key size {size} bits is not supported")
        return ALGORITHMS[_BY_RSA_SIZE[size]]
    if isinstance(key, ec.EllipticCurvePublicKey):
        size = key.curve.key_size
        if size not in _BY_CURVE_SIZE:
            raise SignatureError(f"ecdsa key size {size} bits is not supported")
        return ALGORITHMS[_BY_CURVE_SIZE[size]]
    raise SignatureError("unsupported public key type")


def holds(
    algorithm: Algorithm, certificate: x509.Certificate, signed: bytes, signature: bytes, salt: bool
) -> bool:
    """Tell whether a signature of some bytes is by a certificate's key.

    salt: whether RSA's has to be as long as the hash (COSE) rather than of any length (JWS). Raises
    KeyMismatchError for a key of another kind.
    """
    key = public_key(certificate)
    try:
        if algorithm.size:
            if not isinstance(key, ec.EllipticCurvePublicKey):
                raise KeyMismatchError("key is of invalid type")
            if len(signature) != 2 * algorithm.size:
                return False
            first = int.from_bytes(signature[: algorithm.size], "big")
            second = int.from_bytes(signature[algorithm.size :], "big")
            key.verify(encode_dss_signature(first, second), signed, ec.ECDSA(algorithm.hashed))
        else:
            if not isinstance(key, rsa.RSAPublicKey):
                raise KeyMismatchError("key is invalid")
            length = padding.PSS.DIGEST_LENGTH if salt else padding.PSS.AUTO
            scheme = padding.PSS(padding.MGF1(algorithm.hashed), length)
            key.verify(signature, signed, scheme, algorithm.hashed)
    except InvalidSignature:
        return False
    return True
