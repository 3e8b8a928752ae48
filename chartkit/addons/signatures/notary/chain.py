"""The rules for chains of certificates that sign code or stamp times, who signs first; the
algorithms of their keys; and times and names as Go writes them in its messages.

Notation wants the chain whole and in order in the signature itself; nothing is searched for. Rules,
their order and words are those of notation-core-go; of Go's own words those behind `Error:` that
can be known. A key's kind and size decide its algorithm (signature specification, "Algorithm
Selection").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.asn1 import PrintableString, encode_der
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import extension, is_authority, public_key
from chartkit.engine.ports.signatures import SignatureError
from chartkit.go.strconv import quote
from chartkit.go.time_layout import Moment

_SOUND: Final = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_INSECURE: Final = {"sha1": "SHA1", "md5": "MD5"}
_OTHER_USES: Final = (
    ("key_encipherment", "KeyEncipherment"),
    ("data_encipherment", "DataEncipherment"),
    ("key_agreement", "KeyAgreement"),
    ("key_cert_sign", "CertSign"),
    ("crl_sign", "CRLSign"),
)
_AGREEMENT_USES: Final = (("encipher_only", "EncipherOnly"), ("decipher_only", "DecipherOnly"))
_EXCLUDED: Final = {
    ExtendedKeyUsageOID.SERVER_AUTH: "ServerAuth",
    ExtendedKeyUsageOID.CLIENT_AUTH: "ClientAuth",
    ExtendedKeyUsageOID.EMAIL_PROTECTION: "EmailProtection",
    ExtendedKeyUsageOID.TIME_STAMPING: "Timestamping",
    ExtendedKeyUsageOID.OCSP_SIGNING: "OCSPSigning",
}
_UNKNOWN: Final = "x509: cannot verify signature: algorithm unimplemented"
_SHA256, _SHA384, _SHA512 = hashes.SHA256(), hashes.SHA384(), hashes.SHA512()
_BY_RSA_SIZE: Final = {2048: "PS256", 3072: "PS384", 4096: "PS512"}
_BY_CURVE_SIZE: Final = {256: "ES256", 384: "ES384", 521: "ES512"}
SECOND: Final = 1_000_000_000
ZERO: Final = -62_135_596_800 * SECOND
"""Go's zero time: the beginning of year 1, in UTC."""
_FIRST: Final = -62_135_596_800 + 86_400
_LAST: Final = 253_402_300_799 - 86_400
"""Seconds between which `datetime` knows every zone's date: years 1 and 9999."""
_SHORT: Final = {
    "2.5.4.6": "C",
    "2.5.4.8": "ST",
    "2.5.4.7": "L",
    "2.5.4.9": "STREET",
    "2.5.4.17": "POSTALCODE",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.3": "CN",
    "2.5.4.5": "SERIALNUMBER",
}
"""In the order of Go's `pkix.Name`, which it prints the other way round."""
_SINGLE: Final = frozenset({"CN", "SERIALNUMBER"})
"""Of which the last one counts."""
_PRINTABLE_LETTERS: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 '()+,-./:=?"
)
_LONGEST: Final = 2000
"""Characters of a message that may have parts of a signature in it."""


def check_chain(chain: Sequence[x509.Certificate], *, stamps: bool) -> None:
    """Require a chain for code signing, or for time stamping (stamps); raises SignatureError."""
    if len(chain) == 1:
        certificate = chain[0]
        whom = f"invalid self-signed certificate. subject: {subject(certificate)}. Error: "
        with within(whom, ""):
            _check_signature(certificate, certificate)
        if certificate.issuer != certificate.subject:
            raise SignatureError(
                f"{whom}issuer({name_text(certificate.issuer)}) and "
                f"subject({name_text(certificate.subject)}) are not the same"
            )
        with within("invalid self-signed certificate. Error"):
            _check_leaf(certificate, stamps=stamps)
        return
    for index, certificate in enumerate(chain):
        if index == len(chain) - 1:
            root = f"root certificate with subject {subject(certificate)} is"
            ends = "Certificate chain must end with a valid self-signed root certificate"
            with within(f"{root} invalid or not self-signed. {ends}. Error"):
                is_own = _is_issued_by(certificate, certificate)
            if not is_own:
                raise SignatureError(f"{root} not self-signed. {ends}")
        else:
            _check_issued(certificate, chain[index + 1], is_leaf=index == 0)
        if index == 0:
            _check_leaf(certificate, stamps=stamps)
        else:
            _check_authority(certificate, index - 1, stamps=stamps)


def _check_issued(
    certificate: x509.Certificate, issuer: x509.Certificate, *, is_leaf: bool
) -> None:
    what, whom = "leaf" if is_leaf else "intermediate", subject(certificate)
    try:
        is_own_issuer = _is_issued_by(certificate, certificate)
    except SignatureError:
        is_own_issuer = False
    if is_own_issuer:
        raise SignatureError(
            f"{what} certificate with subject {whom} is self-signed. Certificate chain must not "
            f"contain self-signed {what} certificate"
        )
    by = f"certificate with subject {whom} is not issued by {subject(issuer)}"
    with within(f"invalid certificates or {by}. Error"):
        is_issued = _is_issued_by(certificate, issuer)
    if not is_issued:
        raise SignatureError(by)


def _is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Report whether the names match; SignatureError for a wrong signature or no right."""
    # A certificate of the first version has no constraints and may sign.
    is_old = issuer.version is x509.Version.v1
    uses = extension(issuer, x509.KeyUsage)
    if not (is_authority(issuer) or is_old) or (uses is not None and not uses.value.key_cert_sign):
        message = "x509: invalid signature: parent certificate cannot sign this kind of certificate"
        raise SignatureError(message)
    _check_signature(certificate, issuer)
    return issuer.subject == certificate.issuer


def _check_signature(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    """Check a signature as Go's `CheckSignature` does; raises SignatureError."""
    key = public_key(issuer)
    try:
        hashed = certificate.signature_hash_algorithm
        how = certificate.signature_algorithm_parameters
    except (UnsupportedAlgorithm, ValueError):
        raise SignatureError(_UNKNOWN) from None
    if hashed is not None and not isinstance(hashed, _SOUND):
        if hashed.name not in _INSECURE:
            raise SignatureError(_UNKNOWN)
        named = f"{_INSECURE[hashed.name]}-RSA"
        if isinstance(how, ec.ECDSA):
            named = f"ECDSA-{_INSECURE[hashed.name]}"
        raise SignatureError(f"x509: cannot verify signature: insecure algorithm {named}")
    signed, signature = certificate.tbs_certificate_bytes, certificate.signature
    failure = "x509: ECDSA verification failure"
    try:
        if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(how, ec.ECDSA):
            key.verify(signature, signed, how)
        elif isinstance(key, rsa.RSAPublicKey) and isinstance(how, padding.AsymmetricPadding):
            failure = "crypto/rsa: verification error"
            key.verify(signature, signed, how, hashed or hashes.SHA256())
        elif isinstance(key, ed25519.Ed25519PublicKey) and how is None:
            failure = "x509: Ed25519 verification failure"
            key.verify(signature, signed)
        else:
            raise SignatureError("x509: the signature's algorithm is not that of the issuer's key")
    except (InvalidSignature, UnsupportedAlgorithm):
        raise SignatureError(failure) from None


def _check_authority(certificate: x509.Certificate, below: int, *, stamps: bool) -> None:
    """Require an authority; below: the number of authorities between it and the signer."""
    whom = f"certificate with subject {subject(certificate)}: "
    constraints = extension(certificate, x509.BasicConstraints)
    if constraints is None or not constraints.value.ca:
        message = f"{whom}ca field in basic constraints must be present, critical, and set to true"
        raise SignatureError(message)
    most = constraints.value.path_length
    if most is not None and most < below:
        raise SignatureError(
            f"{whom}expected path length of {below} but certificate has path length {most} instead"
        )
    if not _key_usage(certificate, stamps=stamps).key_cert_sign:
        raise SignatureError(f"{whom}key usage must have the bit positions for key cert sign set")


def _check_leaf(certificate: x509.Certificate, *, stamps: bool) -> None:
    whom = f"certificate with subject {subject(certificate)}"
    if is_authority(certificate):
        raise SignatureError(
            f"{whom}: if the basic constraints extension is present, the ca field must be set to "
            "false"
        )
    uses = _key_usage(certificate, stamps=stamps)
    if not uses.digital_signature:
        raise SignatureError(
            f"the {whom} is invalid. The key usage must have the bit positions for "
            '"Digital Signature" set'
        )
    named = _OTHER_USES + (_AGREEMENT_USES if uses.key_agreement else ())
    others = [f'"{name}"' for attribute, name in named if getattr(uses, attribute)]
    if others:
        raise SignatureError(
            f'the {whom} is invalid. The key usage must be "Digital Signature" only, but found '
            + ", ".join(others)
        )
    purposes = extension(certificate, x509.ExtendedKeyUsage)
    if stamps:
        if purposes is None or list(purposes.value) != [ExtendedKeyUsageOID.TIME_STAMPING]:
            raise SignatureError(
                f"timestamp signing {whom} must have and only have Timestamping as extended key "
                "usage"
            )
    else:
        for purpose in purposes.value if purposes is not None else ():
            if purpose in _EXCLUDED:
                message = f"{whom}: extended key usage must not contain {_EXCLUDED[purpose]} eku"
                raise SignatureError(message)
    with within(whom):
        algorithm_of(certificate)


def _key_usage(certificate: x509.Certificate, *, stamps: bool) -> x509.KeyUsage:
    usage = extension(certificate, x509.KeyUsage)
    whom = f"certificate with subject {subject(certificate)}: key usage extension must be "
    if usage is None:
        raise SignatureError(f"{whom}present")
    if not usage.critical and not stamps:
        raise SignatureError(f"{whom}marked critical")
    return usage.value


def asks_elsewhere(certificate: x509.Certificate) -> bool:
    """Report whether a certificate's revocation is published elsewhere, by OCSP or a list."""
    responders = extension(certificate, x509.AuthorityInformationAccess)
    is_asked = responders is not None and any(
        access.access_method == AuthorityInformationAccessOID.OCSP for access in responders.value
    )
    points = extension(certificate, x509.CRLDistributionPoints)
    return is_asked or (points is not None and any(point.full_name for point in points.value))


@dataclass(frozen=True, slots=True)
class Algorithm:
    """name: as JWS has it; label: as COSE has it; number: notation's own; size: bytes of each of
    the two numbers of an ECDSA signature, 0 for RSA."""

    name: str
    label: int
    number: int
    hashed: hashes.HashAlgorithm
    size: int = 0


ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("PS256", -37, 1, _SHA256),
        Algorithm("PS384", -38, 2, _SHA384),
        Algorithm("PS512", -39, 3, _SHA512),
        Algorithm("ES256", -7, 4, _SHA256, 32),
        Algorithm("ES384", -35, 5, _SHA384, 48),
        Algorithm("ES512", -36, 6, _SHA512, 66),
    )
}
LABELS: Final[Mapping[int, Algorithm]] = {one.label: one for one in ALGORITHMS.values()}


def algorithm_of(certificate: x509.Certificate) -> Algorithm:
    """The algorithm of a certificate's key; raises SignatureError for a key that may not sign."""
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
    """Report whether a signature of some bytes is by a certificate's key. salt: whether RSA's has
    to be as long as the hash (COSE) rather than of any length (JWS). Raises SignatureError for a
    key of another kind."""
    key = public_key(certificate)
    try:
        if algorithm.size:
            if not isinstance(key, ec.EllipticCurvePublicKey):
                raise SignatureError("key is of invalid type")
            if len(signature) != 2 * algorithm.size:
                return False
            first = int.from_bytes(signature[: algorithm.size], "big")
            second = int.from_bytes(signature[algorithm.size :], "big")
            key.verify(encode_dss_signature(first, second), signed, ec.ECDSA(algorithm.hashed))
        else:
            if not isinstance(key, rsa.RSAPublicKey):
                raise SignatureError("key is invalid")
            length = padding.PSS.DIGEST_LENGTH if salt else padding.PSS.AUTO
            scheme = padding.PSS(padding.MGF1(algorithm.hashed), length)
            key.verify(signature, signed, scheme, algorithm.hashed)
    except InvalidSignature:
        return False
    return True


def line(message: str) -> str:
    """Return a message in one line that is not too long, whatever a signature brought into it."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in message[:_LONGEST])
    return text if len(message) <= _LONGEST else f"{text}…"


def moment_of(time: datetime) -> Moment:
    """Return a certificate's time, which is in whole seconds and in UTC."""
    return Moment(int(time.timestamp()) * SECOND)


def now() -> Moment:
    return moment_of(datetime.now(UTC))


def shown(moment: Moment) -> str:
    """Return a moment as Go's RFC1123Z: `Mon, 02 Jan 2006 15:04:05 -0700`."""
    seconds = moment.nanoseconds // SECOND
    if not _FIRST <= seconds <= _LAST:
        return str(moment)
    zone = timezone(timedelta(seconds=moment.offset))
    return format_datetime(datetime.fromtimestamp(0, zone) + timedelta(seconds=seconds))


def subject(certificate: x509.Certificate) -> str:
    """Return the subject of a certificate, as Go quotes it: `"CN=signer,O=Acme,C=DE"`."""
    return quote(name_text(certificate.subject))


def name_text(name: x509.Name) -> str:
    """A name as Go's `pkix.Name` prints it: known attributes first, the last known one foremost."""
    named: dict[str, list[str]] = {short: [] for short in _SHORT.values()}
    others = []
    for attribute in name:
        text_value = attribute.value
        value = text_value if isinstance(text_value, str) else text_value.decode("latin-1")
        short = _SHORT.get(attribute.oid.dotted_string)
        if short is None:
            # In DER, with the kind of text that Go chooses.
            is_printable = _PRINTABLE_LETTERS.issuperset(value)
            der = encode_der(PrintableString(value) if is_printable else value)
            others.append(f"{attribute.oid.dotted_string}=#{der.hex()}")
        elif short in _SINGLE:
            named[short] = [value]
        else:
            named[short].append(value)
    parts = [
        "+".join(f"{short}={_escaped(text)}" for text in values) for short, values in named.items()
    ]
    return ",".join([part for part in reversed(parts) if part] + others[::-1])


def _escaped(value: str) -> str:
    last = len(value) - 1
    return "".join(
        f"\\{letter}"
        if letter in ',+"\\<>;'
        or (letter == " " and at in (0, last))
        or (letter == "#" and at == 0)
        else letter
        for at, letter in enumerate(value)
    )
