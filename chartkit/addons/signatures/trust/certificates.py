"""Certificates: read, followed to a root, and what they say of an identity.

Paths are built by `cryptography`; what of Go's own messages can be known is worded as there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from chartkit.addons.signatures.errors import UndecidedError
from chartkit.addons.signatures.trust.keys import PublicKey, read_pem, supported
from chartkit.engine.ports.signatures import SignatureError

Kind = TypeVar("Kind", bound=x509.ExtensionType)

CODE_SIGNING: Final = ExtendedKeyUsageOID.CODE_SIGNING
TIME_STAMPING: Final = ExtendedKeyUsageOID.TIME_STAMPING
_ANY_USAGE: Final = ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE

_OTHER_NAME: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
_UTF8: Final = 0x0C
_DEEPEST: Final = 12
"""Certificates between a leaf and its root at most; a policy may give eleven."""
_BROKEN: Final = (
    ValueError,
    TypeError,
    KeyError,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""The errors of reading a certificate of a stranger, its names and its extensions."""
_NEVER_CRITICAL: Final = {
    ExtensionOID.AUTHORITY_INFORMATION_ACCESS: "authority info access",
    ExtensionOID.AUTHORITY_KEY_IDENTIFIER: "authority key identifier",
    ExtensionOID.SUBJECT_KEY_IDENTIFIER: "subject key identifier",
}
Check = Callable[[Policy, x509.Certificate, x509.ExtendedKeyUsage | None], None]
_UNKNOWN: Final = "x509: certificate signed by unknown authority"
_HANDLED: Final = frozenset(
    (
        ExtensionOID.KEY_USAGE,
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.NAME_CONSTRAINTS,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.CRL_DISTRIBUTION_POINTS,
        ExtensionOID.POLICY_CONSTRAINTS,
        ExtensionOID.POLICY_MAPPINGS,
        ExtensionOID.INHIBIT_ANY_POLICY,
    )
)
"""Extensions that Go knows what to do with where they are critical."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity to match: exact texts and regular expressions, empty for any."""

    subject: str = ""
    subject_regexp: str = ""
    issuer: str = ""
    issuer_regexp: str = ""


def read_certificates(text: str) -> list[x509.Certificate]:
    """Return all certificates of a PEM text; raises SignatureError for anything else in it."""
    blocks, more = read_pem(text)
    certificates = [read_certificate(block.content) for block in blocks]
    if more:
        raise SignatureError("error during PEM decoding")
    return certificates


def read_certificate(content: bytes) -> x509.Certificate:
    """Return a certificate in DER; raises SignatureError."""
    try:
        # What is odd about a certificate is not told on standard error.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            certificate = x509.load_der_x509_certificate(content)
            if certificate.serial_number < 0:
                raise ValueError("negative serial number")
        public_key(certificate)
        _ = certificate.extensions, certificate.subject, certificate.issuer
        _ = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        critical = {extension.oid for extension in certificate.extensions if extension.critical}
    except (*_BROKEN, UnsupportedAlgorithm):
        raise SignatureError("x509: malformed certificate") from None
    for kind, name in _NEVER_CRITICAL.items():
        if kind in critical:
            raise SignatureError(f"x509: {name} incorrectly marked critical")
    return certificate


def read_pool(text: str) -> list[x509.Certificate]:
    """The certificates of a PEM text, whatever else there is; raises SignatureError for none."""
    certificates = []
    for block in read_pem(text)[0]:
        if block.label == "CERTIFICATE":
            try:
                certificates.append(read_certificate(block.content))
            except SignatureError:
                continue
    if not certificates:
        raise SignatureError("error creating root cert pool")
    return certificates


def public_key(certificate: x509.Certificate) -> PublicKey:
    """Return the key that a certificate is for; raises SignatureError where it is not supported."""
    try:
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError("x509: malformed certificate") from None
    return supported(key)


def _may_issue(certificate: x509.Certificate) -> bool:
    """Report whether it is an authority's, and its key may sign certificates."""
    usage = extension(certificate, x509.KeyUsage)
    return (usage is None or usage.value.key_cert_sign) and is_authority(certificate)


def is_authority(certificate: x509.Certificate) -> bool:
    """Tell whether a certificate claims to be an authority's."""
    constraints = extension(certificate, x509.BasicConstraints)
    return constraints is not None and constraints.value.ca


def extension(certificate: x509.Certificate, kind: type[Kind]) -> x509.Extension[Kind] | None:
    """Return an extension of a certificate that was read; None where it has none of the kind."""
    try:
        return certificate.extensions.get_extension_for_class(kind)
    except x509.ExtensionNotFound:
        return None


def verify_chain(
    leaf: x509.Certificate,
    *,
    roots: Sequence[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
    at: datetime,
    usage: x509.ObjectIdentifier,
) -> list[x509.Certificate]:
    """Return the certificates from a leaf to one of the roots, all valid at a time and for a usage.

    As Go's `Verify` with KeyUsages: a certificate without extended key usages is for all of them.
    Raises SignatureError in its words; UndecidedError where the library that builds the way refuses
    what Go takes, such as an authority's key of Ed25519.
    """
    if not roots:
        raise SignatureError(_UNKNOWN)
    moment = at.astimezone(UTC).replace(tzinfo=None)

    def check(
        _policy: Policy, _certificate: x509.Certificate, given: x509.ExtendedKeyUsage | None
    ) -> None:
        if given is not None and not {usage, _ANY_USAGE}.intersection(given):
            raise ValueError("not for this usage")

    try:
        return _path(leaf, roots, intermediates, moment, check)
    except VerificationError:
        pass
    try:
        _path(leaf, roots, intermediates, moment, None)
    except VerificationError:
        pass
    else:
        raise SignatureError("x509: certificate specifies an incompatible key usage")
    raise _refused(leaf, roots, intermediates, at)


def _check_signs(
    _policy: Policy, _certificate: x509.Certificate, given: x509.KeyUsage | None
) -> None:
    if given is not None and not given.key_cert_sign:
        raise ValueError("signs no certificates")


def _path(
    leaf: x509.Certificate,
    roots: Sequence[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
    moment: datetime,
    check: Check | None,
) -> list[x509.Certificate]:
    # What certification policies allow, the library does not find out.
    free = ExtensionPolicy.permit_all().require_not_present(x509.PolicyConstraints)
    agnostic = Criticality.AGNOSTIC
    authorities = free.require_present(x509.BasicConstraints, agnostic, None)
    authorities = authorities.may_be_present(x509.KeyUsage, agnostic, _check_signs)
    if check is not None:
        authorities = authorities.may_be_present(x509.ExtendedKeyUsage, agnostic, check)
        free = free.may_be_present(x509.ExtendedKeyUsage, agnostic, check)
    builder = PolicyBuilder().store(Store(list(roots))).time(moment).max_chain_depth(_DEEPEST)
    policies = builder.extension_policies(ca_policy=authorities, ee_policy=free)
    return policies.build_client_verifier().verify(leaf, list(intermediates)).chain


def _refused(
    leaf: x509.Certificate,
    roots: Sequence[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
    at: datetime,
) -> SignatureError | UndecidedError:
    """Return the reason why no path exists, in Go's words: the first fault, from the leaf on."""
    way = [leaf]
    while way[-1] not in roots and len(way) <= _DEEPEST:
        named = [
            certificate
            for certificate in (*intermediates, *roots)
            if certificate.subject == way[-1].issuer and certificate not in way
        ]
        issuer = next((ca for ca in named if _may_issue(ca) and _issued(way[-1], ca)), None)
        if issuer is None:
            return SignatureError(_UNKNOWN + (_candidate(named[0]) if named else ""))
        way.append(issuer)
    for above, certificate in enumerate(way):
        if wrong := _wrong(certificate, above, at):
            return SignatureError(f"x509: {wrong}")
    return UndecidedError(
        f'certificates of the authority "{_name(way[-1])}" are of a kind that is not verified here'
    )


def _wrong(certificate: x509.Certificate, above: int, at: datetime) -> str:
    """Return the fault of a certificate on a path; above: its distance from the leaf."""
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not first <= at <= last:
        side, limit = ("before", first) if at < first else ("after", last)
        moments = f"current time {_rfc3339(at)} is {side} {_rfc3339(limit)}"
        return f"certificate has expired or is not yet valid: {moments}"
    for ext in certificate.extensions:
        if ext.critical and ext.oid not in _HANDLED:
            return "unhandled critical extension"
        if isinstance(ext.value, x509.NameConstraints) and above and _is_decided(ext.value):
            return "a root or intermediate certificate is not authorized to sign for this name"
        if isinstance(ext.value, x509.BasicConstraints):
            most = ext.value.path_length
            if most is not None and above - 1 > most:
                return "too many intermediates for path length constraint"
    return ""


def _is_decided(constraints: x509.NameConstraints) -> bool:
    """Report whether the library supports all kinds of names that are constrained."""
    trees = (*(constraints.permitted_subtrees or ()), *(constraints.excluded_subtrees or ()))
    return all(isinstance(tree, x509.DNSName | x509.RFC822Name | x509.IPAddress) for tree in trees)


def _candidate(certificate: x509.Certificate) -> str:
    """The certificate with an issuer's name that is not the issuer, as Go's message has it."""
    is_rsa = isinstance(public_key(certificate), rsa.RSAPublicKey)
    why = "crypto/rsa: verification error" if is_rsa else "x509: ECDSA verification failure"
    if not _may_issue(certificate):
        why = "x509: invalid signature: parent certificate cannot sign this kind of certificate"
    return (
        f' (possibly because of "{why}" while trying to verify candidate authority '
        f'certificate "{_name(certificate)}")'
    )


def _issued(certificate: x509.Certificate, by: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(by)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _name(certificate: x509.Certificate) -> str:
    for kind in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME):
        attributes = certificate.subject.get_attributes_for_oid(kind)
        if attributes and attributes[0].value:
            return str(attributes[0].value)
    return f"serial:{certificate.serial_number}"


def check_expiry(
    certificate: x509.Certificate, issuers: Sequence[x509.Certificate], at: datetime
) -> None:
    """Require a certificate and its issuers to be valid at a time; raises SignatureError."""
    for index, link in enumerate((certificate, *issuers)):
        what = "issuing CA certificate" if index else "certificate"
        first, last = link.not_valid_before_utc, link.not_valid_after_utc
        if last < at:
            raise SignatureError(
                f"{what} expired before observed time: {_rfc3339(last)} is before {_rfc3339(at)}"
            )
        if first > at:
            raise SignatureError(
                f"{what} was issued after observed time: {_rfc3339(first)} is after {_rfc3339(at)}"
            )


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def alternative_names(certificate: x509.Certificate) -> list[str]:
    """Return the alternative names of a certificate, in sigstore's order."""
    ext = extension(certificate, x509.SubjectAlternativeName)
    if ext is None:
        return []
    name = ext.value
    names = [*name.get_values_for_type(x509.DNSName)]
    names += name.get_values_for_type(x509.RFC822Name)
    names += [str(value) for value in name.get_values_for_type(x509.IPAddress)]
    names += name.get_values_for_type(x509.UniformResourceIdentifier)
    others = [
        san.value for san in name.get_values_for_type(x509.OtherName) if san.type_id == _OTHER_NAME
    ]
    if len(others) == 1 and len(others[0]) > 2 and others[0][0] == _UTF8:
        names.append(others[0][2:].decode(errors="replace"))
    return names


def extension_values(certificate: x509.Certificate) -> Mapping[str, str]:
    """Return the certificate's extensions by object identifier, their bytes taken as text."""
    return {
        ext.oid.dotted_string: ext.value.public_bytes().decode(errors="replace")
        for ext in certificate.extensions
    }
