"""The extensions of X.509 certificates, read into the fields that Go has for them."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Callable
from urllib.parse import urlsplit

from chartkit.go.x509.der import (
    BIT_STRING,
    BOOLEAN,
    INTEGER,
    OBJECT_IDENTIFIER,
    OCTET_STRING,
    SEQUENCE,
    DerError,
    Reader,
    bit_at,
    context,
    integer,
    object_identifier,
)
from chartkit.model import Body, Json

_LISTS = (
    *("CRLDistributionPoints", "DNSNames", "EmailAddresses", "ExcludedDNSDomains"),
    *("ExcludedEmailAddresses", "ExcludedIPRanges", "ExcludedURIDomains", "ExtKeyUsage"),
    *("Extensions", "ExtraExtensions", "IPAddresses", "IssuingCertificateURL", "OCSPServer"),
    *("PermittedDNSDomains", "PermittedEmailAddresses", "PermittedIPRanges"),
    *("PermittedURIDomains", "Policies", "PolicyIdentifiers", "PolicyMappings", "URIs"),
    *("UnhandledCriticalExtensions", "UnknownExtKeyUsage", "SubjectKeyId", "AuthorityKeyId"),
)
_NUMBERS = (
    *("InhibitAnyPolicy", "InhibitPolicyMapping", "KeyUsage"),
    *("MaxPathLen", "RequireExplicitPolicy"),
)
_FLAGS = (
    *("BasicConstraintsValid", "InhibitAnyPolicyZero", "InhibitPolicyMappingZero", "IsCA"),
    *("MaxPathLenZero", "PermittedDNSDomainsCritical", "RequireExplicitPolicyZero"),
)
_KEY_USAGE_BITS = 9
_USAGES: dict[tuple[int, ...], int] = {
    (2, 5, 29, 37, 0): 0,
    **{(1, 3, 6, 1, 5, 5, 7, 3, number): number for number in range(1, 10)},
    (1, 3, 6, 1, 4, 1, 311, 10, 3, 3): 10,
    (2, 16, 840, 1, 113730, 4, 1): 11,
    (1, 3, 6, 1, 4, 1, 311, 2, 1, 22): 12,
    (1, 3, 6, 1, 4, 1, 311, 61, 1, 1): 13,
}
_INFORMATION_ACCESS = (1, 3, 6, 1, 5, 5, 7, 1, 1)
_ACCESS_FIELDS = {
    (1, 3, 6, 1, 5, 5, 7, 48, 1): "OCSPServer",
    (1, 3, 6, 1, 5, 5, 7, 48, 2): "IssuingCertificateURL",
}
_EMAIL, _DNS, _URI, _IP = 1, 2, 6, 7


def empty_extensions() -> Body:
    """The fields of a certificate without extensions."""
    fields: Body = dict.fromkeys(_LISTS)
    fields.update(dict.fromkeys(_NUMBERS, 0))
    fields.update(dict.fromkeys(_FLAGS, False))
    return fields


def read_extensions(content: bytes) -> list[Body]:
    """The extensions as they stand there; raises `DerError`."""
    reader = Reader(Reader(content).read(SEQUENCE, "x509: malformed extensions"))
    found: list[Body] = []
    while reader:
        extension = Reader(reader.read(SEQUENCE, "x509: malformed extension"))
        problem = "x509: malformed extension OID field"
        oid = extension.object_identifier(problem)
        critical = extension.optional(BOOLEAN, "x509: malformed extension critical field")
        value = extension.read(OCTET_STRING, "x509: malformed extension value field")
        if any(other["Id"] == oid for other in found):
            dotted = ".".join(map(str, oid))
            message = f'x509: certificate contains duplicate extension with OID "{dotted}"'
            raise DerError(message)
        found.append({"Id": oid, "Critical": critical == b"\xff", "Value": encoded(value)})
    return found


def add_extensions(fields: Body, extensions: list[Body]) -> None:
    """Sets the fields that the extensions stand for; raises `DerError`."""
    fields["Extensions"] = extensions
    for extension in extensions:
        read = _READERS.get(tuple(extension["Id"]))
        value, critical = base64.b64decode(extension["Value"]), extension["Critical"]
        is_ignored = read is None or read(fields, value, critical) is False
        if critical and is_ignored:
            append(fields, "UnhandledCriticalExtensions", extension["Id"])


def read_subject_names(value: str) -> Body:
    """The names of a subject alternative name extension, its value in Base64."""
    fields: Body = dict.fromkeys(("DNSNames", "EmailAddresses", "IPAddresses", "URIs"))
    _subject_names(fields, base64.b64decode(value), False)
    return fields


def _key_usage(fields: Body, value: bytes, _: bool) -> None:
    content = Reader(value).read(BIT_STRING, "x509: invalid key usage")
    fields["KeyUsage"] = sum(bit_at(content, bit) << bit for bit in range(_KEY_USAGE_BITS))


def _basic_constraints(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid basic constraints"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    fields["IsCA"] = reader.optional(BOOLEAN, problem) == b"\xff"
    length = reader.optional(INTEGER, problem)
    fields["MaxPathLen"] = -1 if length is None else integer(length, problem)
    fields["MaxPathLenZero"] = fields["MaxPathLen"] == 0
    fields["BasicConstraintsValid"] = True


def _subject_names(fields: Body, value: bytes, _: bool) -> bool:
    problem = "x509: invalid subject alternative names"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    handled = False
    while reader:
        tag, content = reader.any(problem)
        kind = tag & 0x1F
        if tag & 0xC0 != 0x80 or kind not in (_EMAIL, _DNS, _URI, _IP):
            continue
        handled = True
        if kind == _EMAIL:
            append(fields, "EmailAddresses", _ascii(content, "SAN rfc822Name"))
        elif kind == _DNS:
            append(fields, "DNSNames", _ascii(content, "SAN dNSName"))
        elif kind == _URI:
            append(fields, "URIs", _uri(_ascii(content, "SAN uniformResourceIdentifier")))
        else:
            append(fields, "IPAddresses", _address(content))
    return handled


def _ascii(content: bytes, name: str) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        raise DerError(f"x509: {name} is malformed") from None


def _address(content: bytes) -> str:
    if len(content) not in (4, 16):
        raise DerError(f"x509: cannot parse IP address of length {len(content)}")
    address = ipaddress.ip_address(content)
    return str(getattr(address, "ipv4_mapped", None) or address)


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


def _name_constraints(fields: Body, value: bytes, critical: bool) -> bool:
    problem = "x509: invalid NameConstraints extension"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    permitted = reader.optional(context(0, True), problem)
    excluded = reader.optional(context(1, True), problem)
    if not permitted and not excluded:
        raise DerError("x509: empty name constraints extension")
    handled = [
        _subtrees(fields, "Permitted", permitted or b""),
        _subtrees(fields, "Excluded", excluded or b""),
    ]
    fields["PermittedDNSDomainsCritical"] = critical
    return all(handled)


def _subtrees(fields: Body, prefix: str, content: bytes) -> bool:
    problem = "x509: invalid NameConstraints extension"
    reader, handled = Reader(content), True
    texts = {
        context(_DNS): "DNSDomains",
        context(_EMAIL): "EmailAddresses",
        context(_URI): "URIDomains",
    }
    while reader:
        tag, name = Reader(reader.read(SEQUENCE, problem)).any(problem)
        if tag in texts:
            append(fields, prefix + texts[tag], name.decode("latin-1"))
        elif tag == context(_IP):
            half = len(name) // 2
            if half not in (4, 16):
                raise DerError(f"x509: IP constraint contained value of length {len(name)}")
            network = {"IP": _address(name[:half]), "Mask": encoded(name[half:])}
            append(fields, f"{prefix}IPRanges", network)
        else:
            handled = False
    return handled


def _distribution_points(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid CRL distribution point"
    reader = Reader(Reader(value).read(SEQUENCE, f"{problem}s"))
    while reader:
        point = Reader(reader.read(SEQUENCE, problem))
        name = point.optional(context(0, True), problem)
        if name is None:
            continue
        names = Reader(Reader(name).read(context(0, True), problem))
        while names.peek(context(_URI)):
            uri = names.read(context(_URI), problem).decode("latin-1")
            append(fields, "CRLDistributionPoints", uri)


def _authority_key(fields: Body, value: bytes, critical: bool) -> None:
    if critical:
        raise DerError("x509: authority key identifier incorrectly marked critical")
    problem = "x509: invalid authority key identifier"
    found = Reader(Reader(value).read(SEQUENCE, problem)).optional(context(0), problem)
    fields["AuthorityKeyId"] = None if found is None else encoded(found)


def _subject_key(fields: Body, value: bytes, critical: bool) -> None:
    if critical:
        raise DerError("x509: subject key identifier incorrectly marked critical")
    found = Reader(value).read(OCTET_STRING, "x509: invalid subject key identifier")
    fields["SubjectKeyId"] = encoded(found)


def _policy_constraints(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid policy constraints extension"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    for number, name in enumerate(("RequireExplicitPolicy", "InhibitPolicyMapping")):
        found = reader.optional(context(number), problem)
        if found is not None:
            fields[name] = integer(found, problem)
            fields[f"{name}Zero"] = fields[name] == 0


def _extended_usage(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid extended key usages"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    while reader:
        oid = reader.object_identifier(problem)
        usage = _USAGES.get(tuple(oid))
        if usage is None:
            append(fields, "UnknownExtKeyUsage", oid)
        else:
            append(fields, "ExtKeyUsage", usage)


def _policies(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid certificate policies"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    fields["PolicyIdentifiers"] = []
    while reader:
        content = Reader(reader.read(SEQUENCE, problem)).read(OBJECT_IDENTIFIER, problem)
        oid = object_identifier(content, problem)
        if oid in fields["PolicyIdentifiers"]:
            raise DerError(problem)
        fields["PolicyIdentifiers"].append(oid)
        append(fields, "Policies", ".".join(map(str, oid)))


def _policy_mappings(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid policy mappings extension"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    while reader:
        pair = Reader(reader.read(SEQUENCE, problem))
        names = [".".join(map(str, pair.object_identifier(problem))) for _ in range(2)]
        mapping = {"IssuerDomainPolicy": names[0], "SubjectDomainPolicy": names[1]}
        append(fields, "PolicyMappings", mapping)


def _inhibit_any_policy(fields: Body, value: bytes, _: bool) -> None:
    problem = "x509: invalid inhibit any policy extension"
    fields["InhibitAnyPolicy"] = Reader(value).integer(problem)
    fields["InhibitAnyPolicyZero"] = fields["InhibitAnyPolicy"] == 0


def _information_access(fields: Body, value: bytes, critical: bool) -> None:
    if critical:
        raise DerError("x509: authority info access incorrectly marked critical")
    problem = "x509: invalid authority info access"
    reader = Reader(Reader(value).read(SEQUENCE, problem))
    while reader:
        access = Reader(reader.read(SEQUENCE, problem))
        method = tuple(access.object_identifier(problem))
        uri = access.optional(context(_URI), problem)
        if uri is not None and method in _ACCESS_FIELDS:
            append(fields, _ACCESS_FIELDS[method], uri.decode("latin-1"))


_READERS: dict[tuple[int, ...], Callable[[Body, bytes, bool], bool | None]] = {
    (2, 5, 29, 14): _subject_key,
    (2, 5, 29, 15): _key_usage,
    (2, 5, 29, 17): _subject_names,
    (2, 5, 29, 19): _basic_constraints,
    (2, 5, 29, 30): _name_constraints,
    (2, 5, 29, 31): _distribution_points,
    (2, 5, 29, 32): _policies,
    (2, 5, 29, 33): _policy_mappings,
    (2, 5, 29, 35): _authority_key,
    (2, 5, 29, 36): _policy_constraints,
    (2, 5, 29, 37): _extended_usage,
    (2, 5, 29, 54): _inhibit_any_policy,
    _INFORMATION_ACCESS: _information_access,
}


def append(fields: Body, key: str, value: Json) -> None:
    """Add a value to a list of the fields, None while it is empty."""
    fields[key] = [*(fields[key] or ()), value]


def encoded(data: bytes) -> str:
    """Return bytes as Go's JSON has them: in Base64."""
    return base64.b64encode(data).decode("ascii")
