"""The signer of a Sigstore bundle: a key of the policy, or the holder of a certificate."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.asn1 import IA5String, PrintableString, decode_der
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, ssh_key_fingerprint

from chartkit.addons.signatures.bundles.reader import Bundle, Envelope
from chartkit.addons.signatures.cosign.layers import encoded
from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import (
    Identity,
    alternative_names,
    extension,
    public_key,
    read_certificate,
)
from chartkit.addons.signatures.trust.keys import (
    HASHES,
    KeyVerifier,
    PublicKey,
    read_key_der,
    verify_digest,
)
from chartkit.engine.ports.signatures import SignatureError
from chartkit.go.regexp import Regex, RegexError, compile_regex

_CURVES: Final = {"secp256r1": ("sha256",), "secp384r1": ("sha384", "sha256")} | {
    "secp521r1": ("sha512", "sha256")
}
"""The hashes that are tried for a certificate's key; the last is what old clients used."""
_RSA_SIZES: Final = (2048, 3072, 4096)
_FULCIO: Final = "1.3.6.1.4.1.57264.1."
_ISSUER: Final = f"{_FULCIO}1"
_ISSUER_V2: Final = f"{_FULCIO}8"
_TEXTS: Final = frozenset(f"{_FULCIO}{number}" for number in range(8, 23))
"""Fulcio's extensions that are text in DER."""
_TEXT_KINDS: Final[Sequence[Callable[[bytes], str]]] = (
    lambda value: decode_der(str, value),
    lambda value: decode_der(PrintableString, value).as_str(),
    lambda value: decode_der(IA5String, value).as_str(),
)
"""The kinds of text that DER has and Go reads."""


@dataclass(frozen=True, slots=True)
class Signer:
    """key: what verifies; algorithms: the hashes that it may have been used with; certificate:
    None where a policy's own key signs."""

    key: PublicKey
    algorithms: Sequence[str]
    certificate: x509.Certificate | None = None

    def is_valid_at(self, moment: datetime) -> bool:
        """Report whether the signer was valid at a time; a policy's key always is."""
        if self.certificate is None:
            return True
        first, last = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        return first <= moment <= last

    def is_logged_as(self, verifier: bytes) -> bool:
        """Report whether a log's entry (DER) names this signer."""
        if self.certificate is not None:
            return self.certificate.public_bytes(Encoding.DER) == verifier
        try:
            return read_key_der(verifier) == self.key
        except SignatureError:
            return False

    def verify_envelope(self, envelope: Envelope) -> None:
        """Require a DSSE envelope to have one valid signature; raises SignatureError."""
        if len(envelope.signatures) != 1:
            raise SignatureError("exactly one signature is required")
        name, signature = envelope.signatures[0]
        rejected = "could not verify envelope: accepted signatures do not match threshold"
        if name:
            try:
                # OpenSSH's fingerprint of a key is DSSE's default key id.
                digest = base64.b64encode(ssh_key_fingerprint(self.key, hashes.SHA256()))
                fingerprint = f"SHA256:{digest.decode().rstrip('=')}"
            except (ValueError, UnsupportedAlgorithm):
                fingerprint = ""
            if name != fingerprint:
                raise SignatureError(f"{rejected}, Found: 0, Expected 1")
        signed = encode(envelope)
        for algorithm in self.algorithms:
            try:
                KeyVerifier(self.key, HASHES[algorithm]).verify(signature, signed)
            except SignatureError:
                continue
            return
        raise SignatureError(f"{rejected}, Found: 0, Expected 1")

    def verify_digest(self, signature: bytes, digest: bytes) -> None:
        """Require a valid signature of a digest's content; raises SignatureError."""
        if not isinstance(self.key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
            raise SignatureError(
                "message signatures with ed25519 signatures can only be verified with artifacts, "
                "and not just their digest"
            )
        for algorithm in self.algorithms:
            if HASHES[algorithm].digest_size != len(digest):
                continue
            try:
                verify_digest(self.key, signature, digest, algorithm)
            except SignatureError:
                continue
            return
        raise SignatureError("could not verify message: failed to verify signature")


def encode(envelope: Envelope) -> bytes:
    """Return the signed bytes of a DSSE envelope."""
    return encoded(envelope.payload_type, envelope.payload)


def find_signer(bundle: Bundle, key: Signer | None) -> Signer | None:
    """Return the signer of a bundle. key: of the policy, if it has one. None for an unknown key.
    Raises SignatureError for a certificate that cannot be read."""
    if bundle.certificate is None:
        return key
    if not bundle.certificate:
        raise SignatureError(
            "failed to fetch verification content: validation error: missing verification material"
        )
    certificate = read_certificate(bundle.certificate)
    public = public_key(certificate)
    if isinstance(public, ec.EllipticCurvePublicKey):
        algorithms = _CURVES.get(public.curve.name)
        if algorithms is None:
            raise SignatureError("failed to get signature verifier: unsupported elliptic curve")
        algorithm_names: Sequence[str] = algorithms
    else:
        if isinstance(public, rsa.RSAPublicKey) and public.key_size not in _RSA_SIZES:
            raise SignatureError("failed to get signature verifier: unsupported RSA key size")
        algorithm_names = ("sha256",)
    return Signer(public, algorithm_names, certificate)


def check_identity(identity: Identity) -> None:
    """Require expressions that can be read, a subject and an issuer; raises SignatureError."""
    _compile(identity.subject_regexp)
    _compile(identity.issuer_regexp)
    missing = "when verifying a certificate identity, "
    if not identity.subject and not identity.subject_regexp:
        raise SignatureError(f"{missing}there must be subject alternative name criteria")
    if not identity.issuer and not identity.issuer_regexp:
        raise SignatureError(f"{missing}must specify Issuer criteria")


def match_identity(wanted: Identity, certificate: x509.Certificate) -> None:
    """Require a certificate for all that is set of an identity; raises SignatureError."""
    subject, issuer = summary(certificate)
    failed = "failed to verify certificate identity: no matching CertificateIdentity found"
    with within(f"{failed}, last error"):
        _match("SAN", subject, wanted.subject, wanted.subject_regexp)
        _match("issuer", issuer, wanted.issuer, wanted.issuer_regexp)


def _match(what: str, value: str, wanted: str, pattern: str) -> None:
    if wanted and value != wanted:
        raise SignatureError(f'expected {what} value "{wanted}", got "{value}"')
    if pattern and not _compile(pattern).matches(value):
        raise SignatureError(f'expected {what} value to match regex "{pattern}", got "{value}"')


def _compile(pattern: str) -> Regex:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise SignatureError(str(error)) from None


def summary(certificate: x509.Certificate) -> tuple[str, str]:
    """Return the identity and issuer of a certificate; raises SignatureError."""
    issuer = ""
    for ext in certificate.extensions:
        identifier, value = ext.oid.dotted_string, ext.value
        if not isinstance(value, x509.UnrecognizedExtension):
            continue
        if identifier == _ISSUER:
            issuer = value.value.decode(errors="replace")
        elif identifier in _TEXTS:
            text = _text(value.value)
            issuer = text if identifier == _ISSUER_V2 else issuer
    if not (subject := _subject(certificate)):
        raise SignatureError("failed to summarize certificate: no Subject Alternative Name found")
    return subject, issuer


def _text(value: bytes) -> str:
    for read in _TEXT_KINDS:
        try:
            return read(value)
        except ValueError:
            continue
    message = "failed to summarize certificate: unexpected error unmarshalling DER-encoded string"
    raise SignatureError(message)


def _subject(certificate: x509.Certificate) -> str:
    """Return the first URI, or the first address, or Fulcio's own kind of name."""
    extended = extension(certificate, x509.SubjectAlternativeName)
    if extended is None:
        return ""
    names = extended.value
    for kind in (x509.UniformResourceIdentifier, x509.RFC822Name):
        if values := names.get_values_for_type(kind):
            return str(values[0])
    others = alternative_names(certificate) if names.get_values_for_type(x509.OtherName) else []
    return others[-1] if others else ""
