"""A time-stamping authority whose responses (RFC 3161, signed as CMS) can be wrong in every way."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.signing.authority import (
    NOW,
    YEAR,
    Authority,
    Leaf,
    authority,
    der,
    integer,
    oid,
    sequence,
    sign,
    tlv,
)

_TST_INFO = "1.2.840.113549.1.9.16.1.4"
_DIGESTS = {
    "sha1": "1.3.14.3.2.26",
    "sha256": "2.16.840.1.101.3.4.2.1",
    "sha384": "2.16.840.1.101.3.4.2.2",
    "sha512": "2.16.840.1.101.3.4.2.3",
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one response says. status: RFC 3161's PKIStatus; embeds: whether the certificates are
    in it, ordered: as DER has a set, rather than the other way round; signers: how often it is
    signed; accuracy: seconds."""

    at: datetime = NOW
    digest: str = "sha256"
    status: int = 0
    embeds: bool = True
    ordered: bool = True
    signers: int = 1
    accuracy: int | None = None


PLAIN = Stamp()


@dataclass(frozen=True, slots=True)
class TimestampServer:
    """Signs responses with the key of its leaf."""

    leaf: Leaf

    @property
    def certificates(self) -> Sequence[x509.Certificate]:
        """The signing certificate first, the root last."""
        return (self.leaf.certificate, *self.leaf.chain)

    @property
    def chain_pem(self) -> str:
        return self.leaf.pem + self.leaf.chain_pem

    def stamp(self, message: bytes, stamp: Stamp = PLAIN) -> bytes:
        """A TimeStampResp."""
        return sequence(sequence(integer(stamp.status)), self.token(message, stamp))

    def token(self, message: bytes, stamp: Stamp = PLAIN) -> bytes:
        """A TimeStampToken: the part of a response that is signed."""
        info = _info(message, stamp)
        listed = sorted((der(one) for one in self.certificates), reverse=not stamp.ordered)
        certificates = b"".join(listed)
        signers = b"".join(sorted(self._signer(info) for _ in range(stamp.signers)))
        signed = sequence(
            integer(3),
            tlv(0x31, _algorithm("sha256")),
            sequence(oid(_TST_INFO), tlv(0xA0, tlv(0x04, info))),
            tlv(0xA0, certificates) if stamp.embeds else b"",
            tlv(0x31, signers),
        )
        return sequence(oid("1.2.840.113549.1.7.2"), tlv(0xA0, signed))

    def _signer(self, info: bytes) -> bytes:
        certificate = self.leaf.certificate
        thumbprint = tlv(0x04, hashlib.sha256(der(certificate)).digest())
        attributes = (
            ("1.2.840.113549.1.9.3", oid(_TST_INFO)),
            ("1.2.840.113549.1.9.4", tlv(0x04, hashlib.sha256(info).digest())),
            ("1.2.840.113549.1.9.16.2.47", sequence(sequence(sequence(thumbprint)))),
        )
        listed = b"".join(sorted(sequence(oid(kind), tlv(0x31, one)) for kind, one in attributes))
        return sequence(
            integer(1),
            sequence(certificate.issuer.public_bytes(), integer(certificate.serial_number)),
            _algorithm("sha256"),
            tlv(0xA0, listed),
            sequence(oid("1.2.840.10045.4.3.2")),
            tlv(0x04, sign(self.leaf.key, tlv(0x31, listed))),
        )


def _algorithm(digest: str) -> bytes:
    return sequence(oid(_DIGESTS[digest]), b"\x05\x00")


def _info(message: bytes, stamp: Stamp) -> bytes:
    imprint = hashlib.new(stamp.digest, message, usedforsecurity=False).digest()
    at = stamp.at.astimezone(UTC).strftime("%Y%m%d%H%M%SZ").encode()
    return sequence(
        integer(1),
        oid("1.2.3.4.1"),
        sequence(_algorithm(stamp.digest), tlv(0x04, imprint)),
        integer(1),
        tlv(0x18, at),
        b"" if stamp.accuracy is None else sequence(integer(stamp.accuracy)),
    )


def timestamp_server(
    *,
    above: Authority | None = None,
    usages: Sequence[x509.ObjectIdentifier] = (ExtendedKeyUsageOID.TIME_STAMPING,),
    critical: bool = True,
    start: datetime = NOW - YEAR,
    lasts: timedelta = 2 * YEAR,
) -> TimestampServer:
    """above: who vouches for it; a root and an intermediate of its own where nobody is given."""
    issuer = above or timestamp_authority()
    leaf = issuer.leaf(
        name="clock", usages=usages, critical_usages=critical, start=start, lasts=lasts
    )
    return TimestampServer(leaf)


def timestamp_authority() -> Authority:
    """A root and an intermediate, for time stamping."""
    root = authority("clocks")
    return root.intermediate("clocks in between", (ExtendedKeyUsageOID.TIME_STAMPING,))


def authority_server() -> TimestampServer:
    """Signs with the key of a certification authority, which no end-entity is."""
    signer = timestamp_authority()
    return TimestampServer(Leaf(signer.key, signer.certificate, signer.parents))
