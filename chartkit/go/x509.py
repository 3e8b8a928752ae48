"""X.509 certificates and signing requests with the fields that Go's `crypto/x509` has.

They are read by the `cryptography` package, which the extra `signatures` installs.
"""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chartkit.documents.reader import read_file
from chartkit.go import GoError
from chartkit.model import Body, Json

if TYPE_CHECKING:
    from cryptography import x509


CERTIFICATE = "CERTIFICATE"
_BLOCK = re.compile(
    r"^-----BEGIN (?P<type>[^\n]*?)-----[ \t\r]*\n(?P<body>.*?)^-----END (?P=type)-----[ \t\r]*$",
    re.MULTILINE | re.DOTALL,
)
_HEADERS = re.compile(r"\A(?:[^\n:]+:[^\n]*\n)+\s*\n")
_SUBJECT_NAMES: Final = ("DNSNames", "EmailAddresses", "IPAddresses", "URIs")
_PSS: Final = "1.2.840.113549.1.1.10"
_EXTENSION_REQUEST: Final = "1.2.840.113549.1.9.14"
_POLICY_MAPPINGS: Final = "2.5.29.33"


def blocks(text: str) -> Iterator[tuple[str, bytes]]:
    """Yield the type and the content of each block of a text; what is not Base64 is left out."""
    for match in _BLOCK.finditer(text):
        body = _HEADERS.sub("", match["body"])
        try:
            yield match["type"], base64.b64decode("".join(body.split()), validate=True)
        except binascii.Error:
            continue


def certificates(text: str) -> Iterator[bytes]:
    """Yield the certificates among the blocks of a text (DER), whatever the kind of their keys."""
    return (data for kind, data in blocks(text) if kind == CERTIFICATE and _is_certificate(data))


def holds_certificate(text: str) -> bool:
    """Report whether one of the blocks of a text is a certificate."""
    return next(certificates(text), None) is not None


def _is_certificate(data: bytes) -> bool:
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=data)
    except (ssl.SSLError, ValueError):
        return False
    return True


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_file(Path(__file__).with_name("x509.yaml"))[0].body
    return table


class CertificateError(GoError):
    """A text that holds no RSA certificate or request; the message is Kyverno's or Go's."""


def decode_pem(text: str) -> tuple[str, Body]:
    """Return the type of a text's first block and its fields, as Go's `crypto/x509` names them.

    Raise CertificateError for another text, and where `cryptography` is not installed.
    """
    kind, data = next(blocks(text), ("", b""))
    if not kind:
        raise CertificateError("failed to decode PEM block")
    if kind not in (CERTIFICATE, "CERTIFICATE REQUEST"):
        message = "PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST"
        raise CertificateError(message)
    try:
        from cryptography import x509
    except ImportError:
        message = (
            "certificates need the package cryptography: install chartkit's extra 'signatures'"
        )
        raise CertificateError(message) from None
    malformed = "x509: malformed certificate"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == CERTIFICATE:
                return kind, _certificate(x509.load_der_x509_certificate(data))
            malformed = "asn1: structure error: malformed certificate request"
            return kind, _request(x509.load_der_x509_csr(data))
    except CertificateError:
        raise
    except (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        raise CertificateError(malformed) from None


def _certificate(certificate: x509.Certificate) -> Body:
    fields: Body = dict(_table()["certificate"])
    fields["RawTBSCertificate"] = _encoded(certificate.tbs_certificate_bytes)
    fields["SerialNumber"] = certificate.serial_number
    fields["Version"] = certificate.version.value + 1
    fields["RawIssuer"] = _encoded(certificate.issuer.public_bytes())
    fields["Issuer"] = _name(certificate.issuer)
    fields["NotBefore"] = _time(certificate.not_valid_before_utc)
    fields["NotAfter"] = _time(certificate.not_valid_after_utc)
    _add_common(fields, certificate)
    fields["Extensions"] = _extensions(certificate.extensions) or None
    for extension in certificate.extensions:
        is_read = _add_extension(fields, extension)
        if extension.critical and not is_read:
            _append(fields, "UnhandledCriticalExtensions", _numbers(extension.oid.dotted_string))
    return fields


def _request(request: x509.CertificateSigningRequest) -> Body:
    fields: Body = dict.fromkeys((*_SUBJECT_NAMES, "Attributes", "Extensions", "ExtraExtensions"))
    fields["RawTBSCertificateRequest"] = _encoded(request.tbs_certrequest_bytes)
    fields["Version"] = 0
    _add_common(fields, request)
    extensions = _extensions(request.extensions)
    if extensions:
        fields["Extensions"] = extensions
        # Go reads pairs of a type and a value: of a critical extension the value is the mark.
        pairs = [
            {"Type": extension["Id"], "Value": extension["Critical"] or extension["Value"]}
            for extension in extensions
        ]
        fields["Attributes"] = [{"Type": _numbers(_EXTENSION_REQUEST), "Value": [pairs]}]
    names = {name: fields[name] for name in _SUBJECT_NAMES}
    for extension in request.extensions:
        if extension.oid.dotted_string == "2.5.29.17":
            _add_extension(names, extension)
    return {**fields, **names}


def _add_common(fields: Body, signed: x509.Certificate | x509.CertificateSigningRequest) -> None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    fields["Raw"] = _encoded(signed.public_bytes(Encoding.DER))
    fields["Signature"] = _encoded(signed.signature)
    algorithm = signed.signature_algorithm_oid.dotted_string
    fields["SignatureAlgorithm"] = _table()["signatures"].get(algorithm, 0)
    if algorithm == _PSS and signed.signature_hash_algorithm:
        number = _table()["pssHashes"].get(signed.signature_hash_algorithm.name, 0)
        fields["SignatureAlgorithm"] = number
    fields["RawSubject"] = _encoded(signed.subject.public_bytes())
    fields["Subject"] = _name(signed.subject)
    try:
        key = signed.public_key()
    except UnsupportedAlgorithm:
        key = None
    if not isinstance(key, rsa.RSAPublicKey):
        raise CertificateError("certificate should use rsa algorithm")
    raw = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    fields["RawSubjectPublicKeyInfo"] = _encoded(raw)
    fields["PublicKeyAlgorithm"] = 1
    fields["PublicKey"] = {"N": str(key.public_numbers().n), "E": key.public_numbers().e}


def _name(name: x509.Name) -> Body:
    lists, texts = _table()["nameLists"], _table()["nameTexts"]
    fields: Body = dict.fromkeys((*lists.values(), "Names", "ExtraNames"))
    fields.update(dict.fromkeys(texts.values(), ""))
    for attribute in name:
        dotted, value = attribute.oid.dotted_string, attribute.value
        text = value if isinstance(value, str) else value.decode("utf-8", "replace")
        _append(fields, "Names", {"Type": _numbers(dotted), "Value": text})
        if dotted in texts:
            fields[texts[dotted]] = text
        elif dotted in lists:
            _append(fields, lists[dotted], text)
    return fields


def _extensions(extensions: x509.Extensions) -> list[Body]:
    return [
        {
            "Id": _numbers(extension.oid.dotted_string),
            "Critical": extension.critical,
            "Value": _encoded(extension.value.public_bytes()),
        }
        for extension in extensions
    ]


def _add_extension(fields: Body, extension: x509.Extension[Any]) -> bool:
    """Set the fields of an extension; report whether Go reads all of it."""
    from cryptography import x509

    match extension.value:
        case x509.SubjectAlternativeName() as names:
            return sum(_add_subject_name(fields, name) for name in names) > 0
        case x509.NameConstraints() as constraints:
            fields["PermittedDNSDomainsCritical"] = extension.critical
            permitted, excluded = constraints.permitted_subtrees, constraints.excluded_subtrees
            are_read = _add_subtrees(fields, "Permitted", permitted or ())
            return _add_subtrees(fields, "Excluded", excluded or ()) and are_read
        case x509.BasicConstraints(ca=is_authority, path_length=length):
            fields["IsCA"], fields["BasicConstraintsValid"] = is_authority, True
            fields["MaxPathLen"] = -1 if length is None else length
            fields["MaxPathLenZero"] = length == 0
        case x509.KeyUsage() as usage:
            for bit, name in enumerate(_table()["keyUsages"]):
                # The last two are only there where keys are agreed on.
                with suppress(ValueError):
                    fields["KeyUsage"] |= getattr(usage, name) << bit
        case x509.ExtendedKeyUsage() as usages:
            for usage in usages:
                number = _table()["extendedKeyUsages"].get(usage.dotted_string)
                if number is None:
                    _append(fields, "UnknownExtKeyUsage", _numbers(usage.dotted_string))
                else:
                    _append(fields, "ExtKeyUsage", number)
        case _:
            return _add_other(fields, extension)
    return True


def _add_other(fields: Body, extension: x509.Extension[Any]) -> bool:
    """Set the fields of an extension that names keys, addresses or policies."""
    from cryptography import x509

    match extension.value:
        case x509.SubjectKeyIdentifier(digest=digest):
            fields["SubjectKeyId"] = _encoded(digest)
        case x509.AuthorityKeyIdentifier(key_identifier=identifier):
            fields["AuthorityKeyId"] = None if identifier is None else _encoded(identifier)
        case x509.CRLDistributionPoints() as points:
            for point in points:
                _add_addresses(fields, "CRLDistributionPoints", point.full_name or ())
        case x509.AuthorityInformationAccess() as accesses:
            for access in accesses:
                field = _table()["accessFields"].get(access.access_method.dotted_string)
                if field:
                    _add_addresses(fields, field, (access.access_location,))
        case x509.CertificatePolicies() as policies:
            identifiers = [policy.policy_identifier.dotted_string for policy in policies]
            fields["Policies"] = identifiers
            fields["PolicyIdentifiers"] = [_numbers(policy) for policy in identifiers]
        case x509.PolicyConstraints(
            require_explicit_policy=explicit, inhibit_policy_mapping=mapping
        ):
            _add_number(fields, "RequireExplicitPolicy", explicit)
            _add_number(fields, "InhibitPolicyMapping", mapping)
        case x509.InhibitAnyPolicy(skip_certs=certificates):
            _add_number(fields, "InhibitAnyPolicy", certificates)
        case _:
            return extension.oid.dotted_string == _POLICY_MAPPINGS
    return True


def _add_number(fields: Body, name: str, number: int | None) -> None:
    if number is not None:
        fields[name], fields[f"{name}Zero"] = number, number == 0


def _add_addresses(fields: Body, field: str, names: Iterable[x509.GeneralName]) -> None:
    from cryptography import x509

    for name in names:
        if not isinstance(name, x509.UniformResourceIdentifier):
            break
        _append(fields, field, name.value)


def _add_subject_name(fields: Body, name: x509.GeneralName) -> bool:
    from cryptography import x509

    match name:
        case x509.RFC822Name(value=text):
            _append(fields, "EmailAddresses", text)
        case x509.DNSName(value=text):
            _append(fields, "DNSNames", text)
        case x509.UniformResourceIdentifier(value=text):
            _append(fields, "URIs", _uri(text))
        case x509.IPAddress(value=address):
            shown = getattr(address, "ipv4_mapped", None) or address
            _append(fields, "IPAddresses", str(shown))
        case _:
            return False
    return True


def _add_subtrees(fields: Body, prefix: str, names: Iterable[x509.GeneralName]) -> bool:
    from cryptography import x509

    texts = {
        x509.DNSName: "DNSDomains",
        x509.RFC822Name: "EmailAddresses",
        x509.UniformResourceIdentifier: "URIDomains",
    }
    are_read = True
    for name in names:
        if type(name) in texts:
            _append(fields, prefix + texts[type(name)], name.value)
        elif isinstance(name, x509.IPAddress):
            network: Any = name.value
            mask = _encoded(network.netmask.packed)
            value = {"IP": str(network.network_address), "Mask": mask}
            _append(fields, f"{prefix}IPRanges", value)
        else:
            are_read = False
    return are_read


def _uri(text: str) -> Body:
    parts = urlsplit(text)
    opaque = "" if text.partition(":")[2].startswith("/") or not parts.scheme else parts.path
    return {
        "Scheme": parts.scheme,
        "Opaque": opaque,
        "User": {} if "@" in parts.netloc else None,
        "Host": parts.netloc.rpartition("@")[2],
        "Path": "" if opaque else parts.path,
        "Fragment": parts.fragment,
        "RawQuery": parts.query,
        "RawPath": "",
        "RawFragment": "",
        "ForceQuery": False,
        "OmitHost": bool(parts.scheme) and not parts.netloc and not opaque,
    }


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _numbers(dotted: str) -> list[int]:
    return [int(number) for number in dotted.split(".")]


def _append(fields: Body, key: str, value: Json) -> None:
    """Add a value to a list of the fields, None while it is empty."""
    fields[key] = [*(fields[key] or ()), value]


def _encoded(data: bytes) -> str:
    """Return bytes as Go's JSON has them: in Base64."""
    return base64.b64encode(data).decode("ascii")
