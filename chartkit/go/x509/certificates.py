"""X.509 certificates and signing requests in DER and PEM, with their fields as Go has them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from chartkit.go import GoError
from chartkit.go.time_layout import TimeError, parse_time
from chartkit.go.x509.der import (
    BIT_STRING,
    BOOLEAN,
    INTEGER,
    OBJECT_IDENTIFIER,
    OCTET_STRING,
    SEQUENCE,
    SET,
    DerError,
    Reader,
    bits,
    context,
    integer,
    object_identifier,
)
from chartkit.go.x509.extensions import (
    add_extensions,
    append,
    empty_extensions,
    encoded,
    read_extensions,
    read_subject_names,
)
from chartkit.model import Body, Json


class AlgorithmError(ValueError):
    """A key that is no RSA key."""


_RSA = [1, 2, 840, 113549, 1, 1, 1]
_SIGNATURES: dict[tuple[int, ...], int] = {
    (1, 2, 840, 113549, 1, 1, 4): 2,
    (1, 2, 840, 113549, 1, 1, 5): 3,
    (1, 3, 14, 3, 2, 29): 3,
    (1, 2, 840, 113549, 1, 1, 11): 4,
    (1, 2, 840, 113549, 1, 1, 12): 5,
    (1, 2, 840, 113549, 1, 1, 13): 6,
    (1, 2, 840, 10040, 4, 3): 7,
    (2, 16, 840, 1, 101, 3, 4, 3, 2): 8,
    (1, 2, 840, 10045, 4, 1): 9,
    (1, 2, 840, 10045, 4, 3, 2): 10,
    (1, 2, 840, 10045, 4, 3, 3): 11,
    (1, 2, 840, 10045, 4, 3, 4): 12,
    (1, 3, 101, 112): 16,
}
_PSS = (1, 2, 840, 113549, 1, 1, 10)
_PSS_HASHES: dict[tuple[int, ...], tuple[int, int]] = {
    (2, 16, 840, 1, 101, 3, 4, 2, 1): (32, 13),
    (2, 16, 840, 1, 101, 3, 4, 2, 2): (48, 14),
    (2, 16, 840, 1, 101, 3, 4, 2, 3): (64, 15),
}
_EXTENSION_REQUEST = [1, 2, 840, 113549, 1, 9, 14]
_SUBJECT_ALTERNATIVE_NAME = [2, 5, 29, 17]

_NAME_LISTS = {
    6: "Country",
    7: "Locality",
    8: "Province",
    9: "StreetAddress",
    10: "Organization",
    11: "OrganizationalUnit",
    17: "PostalCode",
}
_NAME_TEXTS = {3: "CommonName", 5: "SerialNumber"}
_STRINGS = {
    0x0C: ("utf-8", "UTF-8 string"),
    0x12: ("ascii", "NumericString"),
    0x13: ("ascii", "PrintableString"),
    0x14: ("latin-1", "T61String"),
    0x16: ("ascii", "IA5String"),
    0x1E: ("utf-16-be", "BMPString"),
}
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_PIVOT = 50


def decode_certificate(data: bytes) -> Body:
    """A certificate's fields; raises `DerError` or `AlgorithmError`."""
    problem = "x509: malformed certificate"
    raw = Reader(data).element(SEQUENCE, problem)
    outer = Reader(Reader(raw).read(SEQUENCE, problem))
    raw_tbs = outer.element(SEQUENCE, "x509: malformed tbs certificate")
    tbs = Reader(Reader(raw_tbs).read(SEQUENCE, "x509: malformed tbs certificate"))
    fields = empty_extensions()
    fields["Raw"], fields["RawTBSCertificate"] = encoded(raw), encoded(raw_tbs)
    fields["Version"] = version = _version(tbs)
    fields["SerialNumber"] = _serial_number(tbs)
    fields["SignatureAlgorithm"] = _outer_signature(tbs, outer)
    raw_issuer = tbs.element(SEQUENCE, "x509: malformed issuer")
    fields["RawIssuer"], fields["Issuer"] = encoded(raw_issuer), _name(raw_issuer)
    validity = Reader(tbs.read(SEQUENCE, "x509: malformed validity"))
    fields["NotBefore"], fields["NotAfter"] = _time(validity), _time(validity)
    _add_subject(fields, tbs, "x509: malformed issuer")
    if version > 1:
        tbs.optional(context(1), "x509: malformed issuerUniqueID")
        tbs.optional(context(2), "x509: malformed subjectUniqueID")
    if version == 3 and (found := tbs.optional(context(3, True), "x509: malformed extensions")):
        add_extensions(fields, read_extensions(found))
    signature = outer.read(BIT_STRING, "x509: malformed signature")
    fields["Signature"] = encoded(bits(signature, "x509: malformed signature"))
    return fields


def decode_request(data: bytes) -> Body:
    """A certificate request's fields; raises `DerError` or `AlgorithmError`."""
    problem = "asn1: structure error: malformed certificate request"
    reader = Reader(data)
    raw = reader.element(SEQUENCE, problem)
    if reader:
        raise DerError("asn1: syntax error: trailing data")
    outer = Reader(Reader(raw).read(SEQUENCE, problem))
    raw_tbs = outer.element(SEQUENCE, problem)
    tbs = Reader(Reader(raw_tbs).read(SEQUENCE, problem))
    fields: Body = {"Raw": encoded(raw), "RawTBSCertificateRequest": encoded(raw_tbs)}
    fields["Version"] = tbs.integer(problem)
    _add_subject(fields, tbs, problem)
    algorithm = outer.read(SEQUENCE, problem)
    fields["SignatureAlgorithm"] = _signature_algorithm(algorithm)
    fields["Signature"] = encoded(bits(outer.read(BIT_STRING, problem), problem))
    _add_attributes(fields, tbs.optional(context(0, True), problem) or b"")
    return fields


def _version(tbs: Reader) -> int:
    problem = "x509: malformed version"
    wrapped = tbs.optional(context(0, True), problem)
    version = 0
    if wrapped is not None:
        version = Reader(wrapped).integer(problem)
    if version < 0:
        raise DerError(problem)
    if version > 2:
        raise DerError("x509: invalid version")
    return version + 1


def _serial_number(tbs: Reader) -> int:
    problem = "x509: malformed serial number"
    number = tbs.integer(problem)
    if number < 0:
        raise DerError("x509: negative serial number")
    return number


def _outer_signature(tbs: Reader, outer: Reader) -> int:
    inner = tbs.read(SEQUENCE, "x509: malformed signature algorithm identifier")
    if outer.read(SEQUENCE, "x509: malformed algorithm identifier") != inner:
        message = "x509: inner and outer signature algorithm identifiers don't match"
        raise DerError(message)
    return _signature_algorithm(inner)


def _signature_algorithm(content: bytes) -> int:
    reader = Reader(content)
    problem = "x509: malformed OID"
    oid = tuple(reader.object_identifier(problem))
    if oid == _PSS:
        return _pss_algorithm(reader)
    return _SIGNATURES.get(oid, 0)


def _pss_algorithm(reader: Reader) -> int:
    """The number of an RSA-PSS algorithm; 0 where its parameters are unusual."""
    try:
        parameters = Reader(reader.read(SEQUENCE, ""))
        wrapped = Reader(parameters.optional(context(0, True), "") or b"")
        hashes = Reader(wrapped.read(SEQUENCE, ""))
        oid = tuple(hashes.object_identifier(""))
        parameters.optional(context(1, True), "")
        salt = Reader(parameters.optional(context(2, True), "") or b"\x02\x01\x14")
        length = salt.integer("")
    except DerError:
        return 0
    expected, number = _PSS_HASHES.get(oid, (-1, 0))
    return number if length == expected else 0


def _add_subject(fields: Body, tbs: Reader, problem: str) -> None:
    raw_subject = tbs.element(SEQUENCE, problem)
    fields["RawSubject"], fields["Subject"] = encoded(raw_subject), _name(raw_subject)
    raw_key = tbs.element(SEQUENCE, "x509: malformed spki")
    fields["RawSubjectPublicKeyInfo"] = encoded(raw_key)
    fields["PublicKey"] = _public_key(raw_key)
    fields["PublicKeyAlgorithm"] = 1


def _public_key(raw: bytes) -> Body:
    info = Reader(Reader(raw).read(SEQUENCE, "x509: malformed spki"))
    problem = "x509: malformed public key algorithm identifier"
    algorithm = Reader(info.read(SEQUENCE, problem))
    if algorithm.object_identifier(problem) != _RSA:
        raise AlgorithmError("certificate should use rsa algorithm")
    key = info.read(BIT_STRING, "x509: malformed subjectPublicKey")
    numbers = Reader(Reader(bits(key, problem)).read(SEQUENCE, "x509: invalid RSA public key"))
    modulus = numbers.integer("x509: invalid RSA modulus")
    problem = "x509: invalid RSA public exponent"
    exponent = numbers.integer(problem)
    if modulus <= 0:
        raise DerError("x509: RSA modulus is not a positive number")
    if exponent <= 0:
        raise DerError("x509: RSA public exponent is not a positive number")
    return {"N": str(modulus), "E": exponent}


def _name(raw: bytes) -> Body:
    problem = "x509: invalid RDNSequence"
    name: Body = dict.fromkeys((*_NAME_LISTS.values(), "Names", "ExtraNames"))
    name.update(dict.fromkeys(_NAME_TEXTS.values(), ""))
    sequence = Reader(Reader(raw).read(SEQUENCE, problem))
    while sequence:
        members = Reader(sequence.read(SET, problem))
        while members:
            _add_attribute(name, members.read(SEQUENCE, f"{problem}: invalid attribute"))
    return name


def _add_attribute(name: Body, content: bytes) -> None:
    problem = "x509: invalid RDNSequence: invalid attribute"
    reader = Reader(content)
    oid = reader.object_identifier(f"{problem} type")
    text = _string(*reader.any(f"{problem} value"))
    append(name, "Names", {"Type": oid, "Value": text})
    if oid[:3] != [2, 5, 4] or len(oid) != 4:
        return
    if oid[3] in _NAME_TEXTS:
        name[_NAME_TEXTS[oid[3]]] = text
    elif oid[3] in _NAME_LISTS:
        append(name, _NAME_LISTS[oid[3]], text)


def _string(tag: int, content: bytes) -> str:
    problem = "x509: invalid RDNSequence: invalid attribute value"
    if tag not in _STRINGS:
        raise DerError(f"{problem}: unsupported string type: {tag}")
    encoding, name = _STRINGS[tag]
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise DerError(f"{problem}: invalid {name}") from None


def _time(validity: Reader) -> str:
    tag, content = validity.any("x509: malformed validity")
    text = content.decode("latin-1")
    if tag == _UTC_TIME and text[:2].isdigit():
        text = ("19" if int(text[:2]) >= _PIVOT else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise DerError("x509: unsupported time format")
    try:
        return str(parse_time("20060102150405Z0700", text))
    except TimeError:
        raise DerError("x509: malformed time") from None


def _add_attributes(fields: Body, content: bytes) -> None:
    names = ("DNSNames", "EmailAddresses", "IPAddresses", "URIs")
    fields.update(dict.fromkeys((*names, "Attributes", "Extensions", "ExtraExtensions")))
    problem = "asn1: structure error: malformed attribute"
    reader = Reader(content)
    while reader:
        attribute = Reader(reader.read(SEQUENCE, problem))
        oid = attribute.object_identifier(problem)
        values = attribute.read(SET, problem)
        try:
            append(fields, "Attributes", {"Type": oid, "Value": _attribute_values(values)})
        except DerError:
            continue
        if oid == _EXTENSION_REQUEST:
            fields["Extensions"] = read_extensions(values)
    for extension in fields["Extensions"] or ():
        if extension["Id"] == _SUBJECT_ALTERNATIVE_NAME:
            fields.update(read_subject_names(extension["Value"]))


def _attribute_values(content: bytes) -> list[Json]:
    """Return Go's view of an attribute: pairs of type and value, without the rest."""
    groups = []
    values = Reader(content)
    while values:
        group, members = [], Reader(values.read(SEQUENCE, ""))
        while members:
            pair = Reader(members.read(SEQUENCE, ""))
            oid = pair.object_identifier("")
            group.append({"Type": oid, "Value": _any_value(*pair.any(""))})
        groups.append(group)
    return groups


def _any_value(tag: int, content: bytes) -> Json:
    if tag == BOOLEAN:
        return content != b"\0"
    if tag == INTEGER:
        return integer(content, "")
    if tag == OCTET_STRING:
        return encoded(content)
    if tag == OBJECT_IDENTIFIER:
        return object_identifier(content, "")
    return content.decode(_STRINGS[tag][0], "replace") if tag in _STRINGS else None


_PEM = re.compile(
    r"^-----BEGIN (?P<type>[^\n]*?)-----[ \t\r]*\n(?P<body>.*?)^-----END (?P=type)-----[ \t\r]*$",
    re.MULTILINE | re.DOTALL,
)
_HEADERS = re.compile(r"\A(?:[^\n:]+:[^\n]*\n)+\s*\n")
CERTIFICATE = "CERTIFICATE"
_DECODERS = {CERTIFICATE: decode_certificate, "CERTIFICATE REQUEST": decode_request}


class CertificateError(GoError):
    """A text that holds no RSA certificate or request; the message is Kyverno's or Go's."""


def decode_pem(text: str) -> tuple[str, Body]:
    """The type of a text's first block and its fields, as Go's `crypto/x509` names them. Raises
    `CertificateError`."""
    kind, data = _first_block(text)
    decode = _DECODERS.get(kind)
    if decode is None:
        message = "PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST"
        raise CertificateError(message)
    try:
        return kind, decode(data)
    except (DerError, AlgorithmError) as error:
        raise CertificateError(str(error)) from error


def holds_certificate(text: str) -> bool:
    """Return whether one of a text's blocks is a certificate, of whatever kind its key is."""
    return next(certificates(text), None) is not None


def certificates(text: str) -> Iterator[bytes]:
    """The certificates among a text's blocks (DER), of whatever kind their keys are."""
    for kind, data in _blocks(text):
        if kind == CERTIFICATE and _is_certificate(data):
            yield data


def _is_certificate(data: bytes) -> bool:
    try:
        decode_certificate(data)
    except AlgorithmError:
        return True
    except DerError:
        return False
    return True


def _first_block(text: str) -> tuple[str, bytes]:
    for kind, data in _blocks(text):
        return kind, data
    raise CertificateError("failed to decode PEM block")


def _blocks(text: str) -> Iterator[tuple[str, bytes]]:
    for match in _PEM.finditer(text):
        body = _HEADERS.sub("", match["body"])
        try:
            yield match["type"], base64.b64decode("".join(body.split()), validate=True)
        except binascii.Error:
            continue
