"""Envelopes in JSON: a JWS in its flattened serialization (RFC 7515, 7.2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cryptography import x509

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.go_json import decode as decode_type
from chartkit.addons.signatures.go_json import read, read_mapping
from chartkit.addons.signatures.notary.chain import (
    ALGORITHMS,
    ZERO,
    algorithm_of,
    check_chain,
    holds,
)
from chartkit.addons.signatures.trust.certificates import read_certificate
from chartkit.engine.ports.signatures import SignatureError
from chartkit.go.strconv import quote
from chartkit.go.time_layout import Moment
from chartkit.go.types import Base64Error, GoTypes, decode_base64
from chartkit.model import Body, Json

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
MEDIA_TYPE: Final = "application/jose+json"
_PROTECTED: Final = {
    "alg": "string",
    "cty": "string",
    "crit": "[]string",
    EXPIRY: "time.Time",
    SIGNING_TIME: "time.Time",
    SCHEME: "signature.SigningScheme=string",
    AUTHENTIC_TIME: "time.Time",
}
_TYPES: Final = GoTypes(
    {
        "jws.jwsEnvelope": {
            "payload": "string",
            "protected": "string",
            "header": "jws.jwsUnprotectedHeader",
            "signature": "string",
        },
        "jws.jwsUnprotectedHeader": {
            TIME_STAMP: "[]uint8",
            "x5c": "[][]uint8",
            "io.cncf.notary.signingAgent": "Raw",
        },
        "jws.jwsProtectedHeader": _PROTECTED,
    },
    exact=True,
)
_UNSIGNED: Final = frozenset(
    {"none", "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "EdDSA"}
)
"""Further algorithms of the JWT library, with which no envelope may be signed."""
_STANDARD: Final = {ord("-"): "+", ord("_"): "/", **{ord(one): "!" for one in "+/=\r\n"}}
"""Of the usual alphabet's own letters none may stand there."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A signed header that the specification does not know."""

    value: object
    is_critical: bool


@dataclass(frozen=True, slots=True)
class Content:
    """algorithm: as JWS names it; signing_time: None where it is not given; attributes: by their
    names; chain: the signer first, the root last; time_stamp: the countersignature, empty without
    one."""

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
        check_chain(content.chain, stamps=False)
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


@dataclass(frozen=True, slots=True)
class Envelope:
    """The parts as they are written; chain: in DER, who signs first."""

    payload: str
    protected: str
    signature: str
    chain: tuple[bytes, ...]
    time_stamp: bytes


def parse(raw: bytes) -> Envelope:
    """Return the parts of an envelope; raises SignatureError."""
    body = decode_type(_TYPES, "jws.jwsEnvelope", read(raw))
    header = body.get("header", {})
    chain = header.get("x5c", [])
    check_length(chain)
    payload, protected = body.get("payload", ""), body.get("protected", "")
    signature, time_stamp = body.get("signature", ""), header.get(TIME_STAMP, b"")
    return Envelope(payload, protected, signature, tuple(chain), time_stamp)


def verify(envelope: Envelope) -> Content:
    """Return the content of an envelope with a valid signature; raises SignatureError."""
    if not envelope.chain:
        raise SignatureError("certificate chain is not present")
    try:
        leaf = read_certificate(envelope.chain[0])
    except SignatureError:
        raise SignatureError("malformed leaf certificate") from None
    with within("signature is invalid. Error"):
        signed = f"{envelope.protected}.{envelope.payload}"
        if f"{signed}.{envelope.signature}".count(".") != 2:
            raise SignatureError("token contains an invalid number of segments")
        header = read_mapping(decode(envelope.protected))
        read_mapping(decode(envelope.payload), "jwt.MapClaims")
        name = header.get("alg")
        if not isinstance(name, str):
            raise SignatureError("signing method (alg) is unspecified.")
        if name in _UNSIGNED:
            raise SignatureError(f"signing method {name} is invalid")
        if name not in ALGORITHMS:
            raise SignatureError("signing method (alg) is unavailable.")
        algorithm, signature = ALGORITHMS[name], decode(envelope.signature)
        if not holds(algorithm, leaf, signed.encode(), signature, salt=False):
            kind = "ecdsa" if algorithm.size else "rsa"
            raise SignatureError(f"crypto/{kind}: verification error")
    with within("jws envelope protected header can't be decoded"):
        written = read(decode(envelope.protected))
        body = decode_type(_TYPES, "jws.jwsProtectedHeader", written)
    further = {key: value for key, value in (written or {}).items() if key not in _PROTECTED}
    payload = decode(envelope.payload)
    _check_headers(body, further)
    scheme, critical = body[SCHEME], body["crit"]
    return Content(
        payload,
        body.get("cty", ""),
        body.get("alg", ""),
        scheme,
        _set(body.get(AUTHENTIC_TIME if scheme == SIGNING_AUTHORITY else SIGNING_TIME)),
        _set(body.get(EXPIRY)),
        {key: Attribute(value, key in critical) for key, value in further.items()},
        tuple(map(read_certificate, envelope.chain)),
        decode(envelope.signature),
        envelope.time_stamp,
    )


def _check_headers(protected: Body, further: Mapping[str, Json]) -> None:
    """Check the protected headers; further: those that the specification does not know."""
    scheme = protected.get(SCHEME, "")
    if scheme == X509:
        if protected.get(AUTHENTIC_TIME) is not None:
            raise SignatureError(
                f"{quote(AUTHENTIC_TIME)} header must not be present for {X509} signing scheme"
            )
    elif scheme == SIGNING_AUTHORITY:
        if protected.get(SIGNING_TIME) is not None:
            raise SignatureError(
                f"{quote(SIGNING_TIME)} header must not be present for {SIGNING_AUTHORITY} "
                "signing scheme"
            )
        if protected.get(AUTHENTIC_TIME) is None:
            message = f"{quote(AUTHENTIC_TIME)} header must be present for {X509} signing scheme"
            raise SignatureError(message)
    else:
        raise SignatureError(f"unsupported SigningScheme: `{scheme}`")
    if not protected.get("crit"):
        raise SignatureError('missing "crit" header')
    wanted = {SCHEME}
    if _set(protected.get(EXPIRY)) is not None:
        wanted.add(EXPIRY)
    if scheme == SIGNING_AUTHORITY:
        wanted.add(AUTHENTIC_TIME)
    for name in protected["crit"]:
        if name in wanted:
            wanted.remove(name)
        elif name not in further:
            raise SignatureError(f"{quote(name)} header is marked critical but not present")
    if wanted:
        raise not_critical(wanted)


def _set(moment: Moment | None) -> Moment | None:
    """Return a time, None for the one that Go takes for none."""
    return None if moment is None or moment.nanoseconds == ZERO else moment


def decode(text: str) -> bytes:
    """Return the bytes of base64 for URLs without padding; raises SignatureError."""
    standard = text.translate(_STANDARD)
    try:
        return decode_base64(standard + "=" * (-len(text) % 4))
    except Base64Error as error:
        raise SignatureError(str(error)) from None
