"""Certificates of a server: an authority and a certificate of its own, made for the occasion."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.atomic import replacing
from chartkit.errors import InputError, system_errors
from chartkit.model import Location

if TYPE_CHECKING:
    from cryptography import x509

AUTHORITY: Final = "ca.crt"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
_LIFETIME: Final = timedelta(days=365)
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files. authority: the certificate that API servers are to trust, as PEM."""

    certificate: Path
    key: Path
    authority: bytes


def given_certificates(certificate: Path, key: Path, authority: Path | None) -> Certificates:
    """Return the files that a user names; raise InputError for those that do not fit together.
    Without an authority, API servers are to trust the certificate itself."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        message = f"is not a certificate with the key of {key} ({error.reason or 'not PEM'})"
        raise InputError(message, Location(str(certificate))) from None
    except OSError as error:
        file = str(certificate if not certificate.is_file() else key)
        raise InputError(f"cannot be read: {error.strerror}", Location(file)) from None
    trusted = authority or certificate
    try:
        return Certificates(certificate, key, trusted.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", Location(str(trusted))) from None


def made_certificates(folder: Path, names: Sequence[str]) -> Certificates:
    """Return certificates for names and addresses, made anew in a folder unless it has some that
    fit together and are valid for all of them for another day."""
    from cryptography import exceptions, x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        authority, certificate = (
            x509.load_pem_x509_certificate((folder / name).read_bytes())
            for name in (AUTHORITY, CERTIFICATE)
        )
        key = load_pem_private_key((folder / KEY).read_bytes(), None)
        certificate.verify_directly_issued_by(authority)
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (
        FileNotFoundError,
        TypeError,  # A key with a password.
        ValueError,
        x509.ExtensionNotFound,
        exceptions.InvalidSignature,
        exceptions.UnsupportedAlgorithm,
    ):
        is_usable = False
    else:
        ends = min(certificate.not_valid_after_utc, authority.not_valid_after_utc)
        is_usable = (
            key.public_key() == certificate.public_key()
            and ends > datetime.now(UTC) + timedelta(days=1)
            and set(_alternatives(names)) <= set(alternatives.value)
        )
    if not is_usable:
        _make(folder, names)
    return Certificates(folder / CERTIFICATE, folder / KEY, (folder / AUTHORITY).read_bytes())


def _alternatives(names: Sequence[str]) -> Iterator[x509.GeneralName]:
    from cryptography import x509

    for name in names:
        try:
            yield x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            yield x509.DNSName(name)


def _make(folder: Path, names: Sequence[str]) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.now(UTC)
    encoding = serialization.Encoding.PEM
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name, name = (
        x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])
        for text in ("chartkit serve CA", "chartkit serve")
    )
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    both = (
        x509.CertificateBuilder()
        .issuer_name(root_name)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
    )
    root = (
        both.subject_name(root_name)
        .public_key(root_key.public_key())
        .serial_number(x509.random_serial_number())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(root_key, hashes.SHA256())
    )
    issued = (
        both.subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(list(_alternatives(names))), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .sign(root_key, hashes.SHA256())
    )
    secret = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    contents = {AUTHORITY: root.public_bytes(encoding), CERTIFICATE: issued.public_bytes(encoding)}
    with system_errors("cannot be written", folder):
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / KEY).is_file():
            (folder / KEY).chmod(_PRIVATE)  # The mode that a file has stays.
        for file, content in {**contents, KEY: secret}.items():
            with replacing(folder / file, _PRIVATE if file == KEY else 0o666) as stream:
                stream.write(content)
