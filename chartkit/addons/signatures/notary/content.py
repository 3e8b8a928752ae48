"""Content of the Notary Project's envelopes, of either form, and the rules for all of them.

The rules are those of the Notary Project's signature specification as notation-core-go applies
them, in its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cryptography import x509

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.notary.chain import ALGORITHMS, algorithm_of, check_code_signing
from chartkit.engine.ports import SignatureError
from chartkit.go.time_layout import Moment

X509: Final = "notary.x509"
SIGNING_AUTHORITY: Final = "notary.x509.signingAuthority"

EXPIRY: Final = "io.cncf.notary.expiry"
SCHEME: Final = "io.cncf.notary.signingScheme"
SIGNING_TIME: Final = "io.cncf.notary.signingTime"
AUTHENTIC_TIME: Final = "io.cncf.notary.authenticSigningTime"
TIME_STAMP: Final = "io.cncf.notary.timestampSignature"
PLUGIN: Final = "io.cncf.notary.verificationPlugin"

MOST_CERTIFICATES: Final = 100
"""Of a chain that is read at all; notation has no limit but the envelope's size."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A signed header that the specification does not know."""

    value: object
    is_critical: bool


@dataclass(frozen=True, slots=True)
class Content:
    """algorithm: as JWS names it; signing_time: None where none is said; attributes: by their
    names; chain: who signs first, the root last; time_stamp: the countersignature, empty where
    there is none."""

    payload: bytes
    content_type: str
    algorithm: str
    scheme: str
    signing_time: Moment | None
    expiry: Moment | None
    attributes: Mapping[str, Attribute]
    chain: tuple[x509.Certificate, ...]
    signature: bytes
    time_stamp: bytes


def check_content(content: Content) -> None:
    """Check the rules for every envelope, in addition to its signature; raises SignatureError."""
    if not content.payload:
        raise SignatureError("content not present")
    signed, expiry = content.signing_time, content.expiry
    if signed is None:
        raise SignatureError("signing-time not present")
    if expiry is not None and expiry.nanoseconds <= signed.nanoseconds:
        raise SignatureError("expiry cannot be equal or before the signing time")
    with within("certificate-chain is invalid, ", ""):
        check_code_signing(content.chain)
    wanted = algorithm_of(content.chain[0])
    if wanted.name != content.algorithm:
        raise SignatureError(
            "mismatch between signature algorithm derived from signing certificate "
            f"({wanted.number}) and signing algorithm specified "
            f"({ALGORITHMS[content.algorithm].number}s)"
        )


def check_length(chain: object) -> None:
    """Require a chain that is short enough; raises SignatureError."""
    if isinstance(chain, list) and len(chain) > MOST_CERTIFICATES:
        raise SignatureError(f"more than {MOST_CERTIFICATES} certificates in a chain")


def not_critical(names: Iterable[str]) -> SignatureError:
    """Return the error for headers that a signer must mark as critical."""
    listed = " ".join(sorted(names))
    return SignatureError(f"these required headers are not marked as critical: [{listed}]")
