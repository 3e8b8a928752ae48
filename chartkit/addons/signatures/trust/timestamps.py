"""Time stamps (RFC 3161): that an authority saw a message, and when.

`rfc3161_client` checks what is signed and by whom, at the stamp's own time; what
sigstore/timestamp-authority wants of a signing certificate beyond that is checked here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.x509.oid import ObjectIdentifier
from rfc3161_client import (
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import (
    TIME_STAMPING,
    extension,
    is_authority,
    read_certificate,
    read_certificates,
    verify_chain,
)
from chartkit.engine.ports.signatures import SignatureError

_MOST_INTERMEDIATES: Final = 10
"""Kyverno's limit, against chains that take long to build."""
_CERTIFICATES: Final = 0xA0
_LONG_TAG: Final = 0x1F
_LONG_LENGTH: Final = 0x80
"""Tags and lengths of DER."""
_MOST_EMBEDDED: Final = 32
"""Certificates in a response: every one more makes paths that have to be tried."""
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_DIGESTS: Final = {
    ObjectIdentifier("2.16.840.1.101.3.4.2.1"): "sha256",
    ObjectIdentifier("2.16.840.1.101.3.4.2.2"): "sha384",
    ObjectIdentifier("2.16.840.1.101.3.4.2.3"): "sha512",
}
_SHA1: Final = ObjectIdentifier("1.3.14.3.2.26")
_STATUS: Final = (
    "the request is granted",
    "the request is granted with modifications",
    "the request is rejected",
    "the request is waiting",
    "revocation is imminent",
    "revocation has occurred",
)
_GRANTED: Final = b"\x30\x03\x02\x01\x00"
"""PKIStatusInfo of a response that was granted, in DER."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A time stamp: the latest time of a message, and the clock's accuracy; chain: the certificate
    that signed it, and its issuers up to a root."""

    time: datetime
    accuracy: timedelta
    chain: tuple[x509.Certificate, ...]


@dataclass(frozen=True, slots=True)
class TimestampAuthority:
    """A trusted authority of time stamps. leaf: the only certificate that may sign, where one is
    given; intermediates: between it and the roots, besides those that come with a time stamp."""

    roots: tuple[x509.Certificate, ...]
    intermediates: tuple[x509.Certificate, ...] = ()
    leaf: x509.Certificate | None = None


def read_authority(chain: str) -> TimestampAuthority:
    """Return the authority of a policy's `tsaCertChain` (PEM), in any order. Raises SignatureError
    in Kyverno's words for too many certificates, or what is not a certificate."""
    most = _MOST_INTERMEDIATES
    if (count := chain.count(_BEGIN)) > most + 2:
        raise SignatureError(_too_many("", count, most + 2))
    with within("error splitting tsa certificates"):
        certificates = read_certificates(chain)
    leaves = [certificate for certificate in certificates if not is_authority(certificate)]
    above = [certificate for certificate in certificates if is_authority(certificate)]
    roots = tuple(certificate for certificate in above if certificate.subject == certificate.issuer)
    intermediates = tuple(item for item in above if item.subject != item.issuer)
    if len(leaves) > 1:
        raise SignatureError("certificate chain must contain at most one TSA certificate")
    if len(intermediates) > most:
        raise SignatureError(_too_many("intermediate ", len(intermediates), most))
    return TimestampAuthority(roots, intermediates, leaves[0] if leaves else None)


def _too_many(which: str, count: int, most: int) -> str:
    return (
        f"TSA certificate chain contains too many {which}certificates ({count}), "
        f"maximum allowed is {most}"
    )


def verify_timestamp(response: bytes, message: bytes, authority: TimestampAuthority) -> Timestamp:
    """Return an authority's time stamp of a message, by its response (TimeStampResp in DER). Raises
    SignatureError for a response that is not a time stamp of this message by this authority."""
    with _wrong("error parsing response into Timestamp"):
        decoded = decode_timestamp_response(with_ordered_certificates(response))
        status, imprint = decoded.status, decoded.tst_info.message_imprint
        digest = imprint.hash_algorithm
    if status:
        text = _STATUS[status] if 0 < status < len(_STATUS) else f"unknown status: {status}"
        raise SignatureError(f"{text}: {','.join(decoded.status_string)} ()")
    if digest not in _DIGESTS:
        weak = "weak hash algorithm: must be SHA-256, SHA-384, or SHA-512"
        raise SignatureError(weak if digest == _SHA1 else "unsupported hash algorithm")
    with _wrong("error parsing response into Timestamp"):
        listed = decoded.signed_data.certificates
    if len(listed) > _MOST_EMBEDDED:
        raise SignatureError(
            f"the timestamp carries {len(listed)} certificates, and {_MOST_EMBEDDED} are read"
        )
    with within("error parsing response into Timestamp"):
        embedded = [read_certificate(certificate) for certificate in listed]
    # The one certificate whose key signed.
    with _wrong("error while verifying signature"):
        signers = list(decoded.signed_data.signer_infos)
        names = [(info.issuer, info.serial_number) for info in signers]
    if len(names) != 1:
        raise SignatureError("signer certificate was not found")
    given = embedded or ([authority.leaf] if authority.leaf else [])
    if not given:
        raise SignatureError("leaf certificate must be present in the TSR or as a verify option")
    named = [cert for cert in given if (cert.issuer, cert.serial_number) == names[0]]
    if not named:
        raise SignatureError("error while verifying signature: pkcs7: No certificate for signer")
    if authority.leaf is not None and authority.leaf != named[0]:
        raise SignatureError(
            "certificate embedded in the TSR does not match the provided TSA certificate"
        )
    signer = named[0]
    if not authority.roots:
        raise SignatureError("no root certificates provided for verifying the certificate chain")
    between = (*authority.intermediates, *embedded)
    at = decoded.tst_info.gen_time
    # All certificates must be for time stamping, which OpenSSL requires of the signer only.
    roots = authority.roots
    with within("error while verifying signer certificate chain"):
        path = verify_chain(signer, roots=roots, intermediates=between, at=at, usage=TIME_STAMPING)
    chain = tuple(path)
    _check_signer(signer)
    _check_signed(decoded, authority, signer)
    timestamp = Timestamp(at, _accuracy(decoded), chain)
    if hashlib.new(_DIGESTS[digest], message).digest() != imprint.message:
        raise SignatureError("hashed messages don't match")
    return timestamp


def verify_token(token: bytes, message: bytes, authority: TimestampAuthority) -> Timestamp:
    """Return the time stamp of a bare TimeStampToken, as Notary's signatures contain it; see
    `verify_timestamp`."""
    size = len(_GRANTED) + len(token)
    octets = size.to_bytes((size.bit_length() + 7) // 8)
    length = octets if size < 0x80 else bytes((0x80 | len(octets),)) + octets
    response = b"\x30" + length + _GRANTED + token
    return verify_timestamp(response, message, authority)


@contextmanager
def _wrong(what: str) -> Iterator[None]:
    """Return the libraries' error of a structure, in one line."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, KeyError) as error:
        raise SignatureError(f"{what}: {' '.join(str(error).split())[:200]}") from None


def _check_signer(signer: x509.Certificate) -> None:
    """Require a certificate for time stamping alone (RFC 3161, 2.3)."""
    failed = "failed to verify TSA certificate"
    if is_authority(signer):
        message = f"{failed}: TSA certificate must be an end-entity certificate, not a CA"
        raise SignatureError(message)
    with _wrong(failed):
        usages = extension(signer, x509.ExtendedKeyUsage)
    if usages is None or not usages.critical:
        raise SignatureError(f"{failed}: certificate must set EKU to critical")
    failed = "failed to verify EKU on leaf certificate"
    if (count := len(list(usages.value))) != 1:
        message = f"{failed}: certificate has {count} extended key usages, expected only one"
        raise SignatureError(message)
    if TIME_STAMPING not in usages.value:
        message = f"{failed}: leaf certificate EKU is not set to TimeStamping as required"
        raise SignatureError(message)


def _check_signed(
    decoded: TimeStampResponse, authority: TimestampAuthority, signer: x509.Certificate
) -> None:
    verifier = VerifierBuilder(
        tsa_certificate=signer,
        intermediates=list(authority.intermediates),
        roots=list(authority.roots),
    ).build()
    try:
        verifier.verify(decoded, decoded.tst_info.message_imprint.message)
    except VerificationError as error:
        said = " ".join(str(error).split("ErrorStack")[0].split()).rstrip(": ")
        raise SignatureError(f"error while verifying signature: {said}") from None
    except (ValueError, TypeError) as error:
        raise SignatureError(f"error while verifying signature: {error}") from None


def _accuracy(decoded: TimeStampResponse) -> timedelta:
    given = decoded.tst_info.accuracy
    if given is None:
        return timedelta()
    return timedelta(
        seconds=given.seconds, milliseconds=given.millis or 0, microseconds=given.micros or 0
    )


def with_ordered_certificates(response: bytes) -> bytes:
    """Return the same response (TimeStampResp), its certificates in the order that DER gives a set;
    as it is, where it is not one. Authorities write them in the order of their chain, which Go's
    readers take and stricter ones do not. They stand outside what is signed."""
    try:
        [(_, _, answer)] = _elements(response)
        [(_, _, info)] = _elements(_elements(answer)[1][2])[1:]
        [(_, _, signed)] = _elements(info)
        listed = next(content for tag, _, content in _elements(signed) if tag == _CERTIFICATES)
        certificates = [element for _, element, _ in _elements(listed)]
    except (ValueError, IndexError, StopIteration):
        return response
    return response.replace(b"".join(certificates), b"".join(sorted(certificates)), 1)


def _elements(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """The elements of DER: tag, whole bytes and content; ValueError for anything else."""
    elements: list[tuple[int, bytes, bytes]] = []
    at = 0
    while at < len(data):
        if at + 2 > len(data) or data[at] & _LONG_TAG == _LONG_TAG:
            raise ValueError
        length, start = data[at + 1], at + 2
        if length >= _LONG_LENGTH:
            size = length & ~_LONG_LENGTH
            length, start = int.from_bytes(data[start : start + size], "big"), start + size
            if not 1 <= size <= 4:
                raise ValueError
        if start + length > len(data):
            raise ValueError
        elements.append((data[at], data[at : start + length], data[start : start + length]))
        at = start + length
    return elements
