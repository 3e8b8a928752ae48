"""Keys, certificates as Fulcio issues them, a log of certificates and a clock that signs."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey

NOW = datetime.now(UTC).replace(microsecond=0)
YEAR = timedelta(days=365)
SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
ISSUER = "1.3.6.1.4.1.57264.1.1"
"""Fulcio's extension with the issuer of the identity, as plain text."""
ISSUER_V2 = "1.3.6.1.4.1.57264.1.8"


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh key on P-256."""
    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    """One key of 2048 bits for a whole run: they take long to make."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def spki(key: PrivateKey | PublicKey) -> bytes:
    """The public key in DER."""
    public = key if isinstance(key, PublicKey) else key.public_key()
    return public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def key_pem(key: PrivateKey | PublicKey) -> str:
    """The public key in PEM."""
    public = key if isinstance(key, PublicKey) else key.public_key()
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def log_id(key: PrivateKey | PublicKey) -> bytes:
    """How logs name their keys (RFC 6962, 3.2)."""
    return hashlib.sha256(spki(key)).digest()


def pem(*certificates: x509.Certificate) -> str:
    """Certificates in PEM, one after another."""
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in certificates)


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def sign(key: PrivateKey, content: bytes, algorithm: hashes.HashAlgorithm | None = None) -> bytes:
    """A signature as cosign makes it: ECDSA in DER, RSA with PKCS #1 1.5, or Ed25519."""
    chosen = algorithm or hashes.SHA256()
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(content, ec.ECDSA(chosen))
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(content, padding.PKCS1v15(), chosen)
    return key.sign(content)


@dataclass(frozen=True, slots=True)
class CertificateLog:
    """A log of certificates (RFC 6962) whose promises stand in what it saw."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)

    @property
    def pem(self) -> str:
        return key_pem(self.key)

    def promises(self, precertificate: bytes, issuer: PrivateKey, at: datetime) -> bytes:
        """The extension's value; precertificate: what is signed of it, without the extension."""
        stamp = int(at.timestamp() * 1000)
        length = struct.pack("!I", len(precertificate))[1:]
        entry = hashlib.sha256(spki(issuer)).digest() + length + precertificate
        signature = sign(self.key, struct.pack("!BBQH", 0, 0, stamp, 1) + entry + b"\0\0")
        promise = b"\0" + log_id(self.key) + struct.pack("!Q", stamp) + b"\0\0"
        promise += b"\x04\x03" + struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!H", len(promise)) + promise
        return tlv(0x04, struct.pack("!H", len(listed)) + listed)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate with its private key. chain: its issuers, the root last."""

    key: PrivateKey
    certificate: x509.Certificate
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        return pem(self.certificate)

    @property
    def chain_pem(self) -> str:
        return pem(*self.chain)


@dataclass(frozen=True, slots=True)
class Authority:
    """Who issues certificates; parents: its own issuers, the root last."""

    key: PrivateKey
    certificate: x509.Certificate
    parents: tuple[x509.Certificate, ...] = ()

    @property
    def chain(self) -> tuple[x509.Certificate, ...]:
        return (self.certificate, *self.parents)

    @property
    def root(self) -> x509.Certificate:
        return self.chain[-1]

    @property
    def root_pem(self) -> str:
        return pem(self.root)

    @property
    def chain_pem(self) -> str:
        return pem(*self.chain)

    def intermediate(
        self, name: str = "intermediate", usages: Sequence[x509.ObjectIdentifier] = ()
    ) -> Authority:
        """An authority that this one vouches for. usages: of its certificates, code signing
        where none is given."""
        key = new_key()
        chosen = usages or (ExtendedKeyUsageOID.CODE_SIGNING,)
        builder = _authority(_name(name), self.certificate.subject, key)
        builder = builder.add_extension(x509.ExtendedKeyUsage(chosen), critical=False)
        return Authority(key, _signed(builder, self.key), self.chain)

    def leaf(
        self,
        *,
        email: str = "",
        uri: str = "",
        issuer: str = "",
        extensions: Mapping[str, bytes] | None = None,
        start: datetime = NOW - timedelta(minutes=5),
        lasts: timedelta = YEAR,
        log: CertificateLog | None = None,
        usages: Sequence[x509.ObjectIdentifier] = (ExtendedKeyUsageOID.CODE_SIGNING,),
        critical_usages: bool = False,
        key: PrivateKey | None = None,
        name: str = "",
    ) -> Leaf:
        """A certificate for an identity. log: whose promise stands in it; issuer: of the
        identity; extensions: further ones, by object identifier; name: the common name."""
        own = key or new_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(self.certificate.subject)
            .public_key(own.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + lasts)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage(list(usages)), critical=critical_usages)
            .add_extension(_by(self.key), critical=False)
        )
        names: list[x509.GeneralName] = [x509.RFC822Name(email)] if email else []
        names += [x509.UniformResourceIdentifier(uri)] if uri else []
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not name)
        given = {ISSUER: issuer.encode()} if issuer else {}
        for identifier, value in {**given, **(extensions or {})}.items():
            raw = x509.UnrecognizedExtension(x509.ObjectIdentifier(identifier), value)
            builder = builder.add_extension(raw, critical=False)
        if log is not None:
            seen = _signed(builder, self.key).tbs_certificate_bytes
            value = log.promises(seen, self.key, start)
            raw = x509.UnrecognizedExtension(SCT_LIST, value)
            builder = builder.add_extension(raw, critical=False)
        return Leaf(own, _signed(builder, self.key), self.chain)


def authority(name: str = "root") -> Authority:
    """A root of one's own."""
    key = new_key()
    subject = _name(name)
    return Authority(key, _signed(_authority(subject, subject, key), key))


def tlv(tag: int, content: bytes) -> bytes:
    """One value in DER."""
    if len(content) < 128:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def sequence(*members: bytes) -> bytes:
    return tlv(0x30, b"".join(members))


def integer(value: int) -> bytes:
    return tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def oid(text: str) -> bytes:
    first, second, *others = (int(part) for part in text.split("."))
    content = b""
    for part in (first * 40 + second, *others):
        groups = [part & 0x7F]
        while part := part >> 7:
            groups.insert(0, part & 0x7F | 0x80)
        content += bytes(groups)
    return tlv(0x06, content)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=not signs,
        crl_sign=not signs,
        encipher_only=False,
        decipher_only=False,
    )


def _by(key: PrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _authority(subject: x509.Name, issuer: x509.Name, key: PrivateKey) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 5 * YEAR)
        .not_valid_after(NOW + 5 * YEAR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(identifier, critical=False)
    )


def _signed(builder: x509.CertificateBuilder, key: PrivateKey) -> x509.Certificate:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm)
