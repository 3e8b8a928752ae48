"""Envelopes in CBOR: COSE_Sign1 (RFC 9052, 4.2), tagged.

CBOR is read with the limits of the one that Kyverno reads it with, and fewer tags: of those that
make something of their content only times are read.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

import cbor2

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.notary.chain import LABELS, SECOND, ZERO, algorithm_of, holds
from chartkit.addons.signatures.notary.jws import (
    AUTHENTIC_TIME,
    EXPIRY,
    SCHEME,
    SIGNING_AUTHORITY,
    SIGNING_TIME,
    TIME_STAMP,
    X509,
    Attribute,
    Content,
    check_length,
    not_critical,
)
from chartkit.addons.signatures.trust.certificates import read_certificate
from chartkit.engine.ports.signatures import SignatureError
from chartkit.go.strconv import quote
from chartkit.go.time_layout import RFC3339, Moment, TimeError, parse_time

MEDIA_TYPE: Final = "application/cose"
_START: Final = b"\xd2\x84"
"""Tag 18 and an array of four."""
_ALGORITHM, _CRITICAL, _CONTENT, _CHAIN = 1, 2, 3, 33
_BYTE_LABELS: Final = {4: "kid", 5: "IV", 6: "Partial IV"}
_TIME_LABELS: Final = {X509: SIGNING_TIME, SIGNING_AUTHORITY: AUTHENTIC_TIME}
_KNOWN: Final = frozenset(
    {_ALGORITHM, _CRITICAL, _CONTENT, EXPIRY, SCHEME, SIGNING_TIME, AUTHENTIC_TIME}
)
_OTHER_NAMES: Final = {-8: "EdDSA", -257: "RS256", -258: "RS384", -259: "RS512", 0: "Reserved"}
_DEEPEST: Final = 32
_MAP: Final = 5
"""The major type of maps."""
_DATE_TEXT, _DATE_NUMBER = 0, 1
_REFUSED_TAGS: Final = (
    *(2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261),
    *(1004, 43000, 55799),
)
"""Of which `cbor2` makes numbers, regular expressions, addresses, shared values and the like."""
_LATEST: Final = 1 << 53
"""Seconds beyond which a float is no exact number."""

Headers = Mapping[object, object]


@dataclass(frozen=True, slots=True)
class Envelope:
    """raw: the protected headers as they were signed; payload: None where it is elsewhere."""

    raw: bytes
    protected: Headers
    unprotected: Headers
    payload: bytes | None
    signature: bytes


def parse(content: bytes) -> Envelope:
    """Return the parts of an envelope; raises SignatureError."""
    if not content.startswith(_START):
        raise SignatureError("cbor: invalid COSE_Sign1_Tagged object")
    members = _decode(content[1:], has_tags=False)
    if not isinstance(members, list) or len(members) != 4:
        raise SignatureError("cbor: invalid COSE_Sign1_Tagged object")
    raw, unprotected, payload, signature = members
    for member in (payload, signature):
        if member is not None and not isinstance(member, bytes):
            raise SignatureError("cbor: require bstr type")
    if not signature:
        raise SignatureError("empty signature")
    with within("cbor: invalid protected header"):
        if not isinstance(raw, bytes):
            message = f"cbor: {'nil protected header' if raw is None else 'require bstr type'}"
            raise SignatureError(message)
        if not raw:
            protected: Headers = {}
        else:
            if raw[0] >> 5 != _MAP:
                raise SignatureError("cbor: protected header: require map type")
            headers = _decode(raw, has_tags=True)
            if not isinstance(headers, dict):
                raise SignatureError("cbor: protected header: require map type")
            _check_labels(headers, "protected")
            protected = headers
    with within("cbor: invalid unprotected header"):
        if not isinstance(unprotected, dict):
            raise SignatureError("cbor: unprotected header: require map type")
        _check_labels(unprotected, "unprotected")
    return Envelope(raw, protected, unprotected, payload, signature)


def verify(envelope: Envelope) -> Content:
    """Return the content of an envelope with a valid signature; raises SignatureError."""
    listed = envelope.unprotected.get(_CHAIN)
    check_length(listed)
    if not isinstance(listed, list) or not listed:
        raise SignatureError("certificate chain is not present")
    if not isinstance(listed[0], bytes):
        raise SignatureError("COSE envelope malformed leaf certificate")
    try:
        leaf = read_certificate(listed[0])
    except SignatureError:
        raise SignatureError("malformed leaf certificate") from None
    wanted = algorithm_of(leaf)
    invalid = "signature is invalid. Error: "
    if envelope.payload is None:
        raise SignatureError(f"{invalid}missing payload")
    with within(invalid, ""):
        label = _label(envelope.protected)
    if label != wanted.label:
        algorithm = LABELS.get(label)
        named = algorithm.name if algorithm else _OTHER_NAMES.get(label, f"Algorithm({label})")
        raise SignatureError(f"{invalid}algorithm mismatch: verifier {wanted.name}: header {named}")
    signed = cbor2.dumps(["Signature1", envelope.raw, b"", envelope.payload])
    if not holds(wanted, leaf, signed, envelope.signature, salt=True):
        raise SignatureError(f"{invalid}verification error")
    content_type = envelope.protected.get(_CONTENT)
    if content_type is None:
        raise SignatureError("missing content type")
    if not isinstance(content_type, str):
        raise SignatureError("content type should be of 'tstr' type")
    scheme, signing_time, expiry = _signed(envelope.protected)
    chain = []
    for raw in listed:
        if not isinstance(raw, bytes):
            raise SignatureError("certificate chain is not present")
        chain.append(read_certificate(raw))
    stamp = envelope.unprotected.get(TIME_STAMP)
    critical = _critical(envelope.protected)
    attributes = {
        label: Attribute(value, label in critical)
        for label, value in envelope.protected.items()
        if isinstance(label, str) and label not in _KNOWN
    }
    return Content(
        envelope.payload or b"",
        content_type,
        LABELS[_label(envelope.protected)].name,
        scheme,
        signing_time,
        expiry,
        attributes,
        tuple(chain),
        envelope.signature,
        stamp if isinstance(stamp, bytes) else b"",
    )


def _label(protected: Headers) -> int:
    label = protected.get(_ALGORITHM)
    if label is None:
        raise SignatureError("algorithm not found")
    if isinstance(label, str):
        raise SignatureError(f"Algorithm({quote(label)})")
    if not isinstance(label, int):
        raise SignatureError("invalid algorithm")
    return label


def _signed(protected: Headers) -> tuple[str, Moment | None, Moment | None]:
    scheme = protected.get(SCHEME)
    if not isinstance(scheme, str):
        raise SignatureError("invalid signingScheme")
    wanted = {SCHEME}
    if scheme == SIGNING_AUTHORITY:
        wanted.add(AUTHENTIC_TIME)
    if EXPIRY in protected:
        wanted.add(EXPIRY)
    missing = wanted.difference(_critical(protected))
    if missing:
        raise not_critical(missing)
    if scheme not in _TIME_LABELS:
        raise SignatureError(f"unsupported signingScheme: {scheme}")
    signing_time = _time(protected, _TIME_LABELS[scheme], "signingTime")
    expiry = _time(protected, EXPIRY, "expiry") if EXPIRY in protected else None
    return scheme, signing_time, expiry


def _critical(protected: Headers) -> list[object]:
    listed = protected.get(_CRITICAL)
    return listed if isinstance(listed, list) else []


def _time(protected: Headers, name: str, what: str) -> Moment | None:
    """Return a required time, None for the one that Go takes for none."""
    tagged = protected.get(name)
    wrong = f"invalid {what}: "
    if tagged is None:
        raise SignatureError(f"{wrong}protected header {quote(name)} is missing")
    if not isinstance(tagged, cbor2.CBORTag):
        raise SignatureError(f"{wrong}invalid timeValue type")
    if tagged.tag != _DATE_NUMBER:
        raise SignatureError(f"{wrong}only Tag `1` Datetime CBOR object is supported")
    nanoseconds = int(tagged.value * SECOND)
    return None if nanoseconds == ZERO else Moment(nanoseconds)


def _check_labels(headers: Headers, which: str) -> None:
    """Check COSE's own rules for headers (RFC 9052, 3.1); raises SignatureError."""
    for label in headers:
        if type(label) not in (int, str):
            raise SignatureError("cbor: header label: require int / tstr type")
    wrong = f"{which} header: header parameter: "
    if _ALGORITHM in headers and type(headers[_ALGORITHM]) not in (int, str):
        raise SignatureError(f"{wrong}alg: require int / tstr type")
    if _CRITICAL in headers:
        is_allowed = which == "protected"
        if not is_allowed:
            raise SignatureError(f"{wrong}crit: not allowed")
        listed = headers[_CRITICAL]
        if not isinstance(listed, list):
            raise SignatureError(f"{wrong}crit: invalid crit header")
        if not listed:
            raise SignatureError(f"{wrong}crit: empty crit header")
        for label in listed:
            if type(label) not in (int, str):
                kind = f", got 'float64': {label}" if type(label) is float else ""
                raise SignatureError(f"{wrong}crit: require int / tstr type{kind}")
            if label not in headers:
                raise SignatureError(f"{wrong}crit: missing critical header: {label}")
    if _CONTENT in headers:
        _check_content_type(headers[_CONTENT], f"{wrong}content type: ")
    for label, name in _BYTE_LABELS.items():
        if label in headers and not isinstance(headers[label], bytes):
            raise SignatureError(f"{wrong}{name}: require bstr type")


def _check_content_type(value: object, wrong: str) -> None:
    if isinstance(value, str):
        if not value:
            raise SignatureError(f"{wrong}require non-empty string")
        if value.startswith(" ") or value.endswith(" "):
            raise SignatureError(f"{wrong}require no leading/trailing whitespace")
        if value.count("/") != 1:
            raise SignatureError(f"{wrong}require text of form type/subtype")
    elif type(value) is not int or value < 0:
        raise SignatureError(f"{wrong}require tstr / uint type")


def _decode(raw: bytes, *, has_tags: bool) -> object:
    """Return a value with nothing behind it; raises SignatureError."""
    stream = io.BytesIO(raw)
    decoder = cbor2.CBORDecoder(
        stream,
        tag_hook=None if has_tags else _refuse,
        semantic_decoders=_TIMES_ONLY if has_tags else _NO_TAGS,
        max_depth=_DEEPEST,
        allow_indefinite=False,
        allow_duplicate_keys=False,
    )
    try:
        value = decoder.decode()
    except cbor2.CBORDecodeEOF:
        raise SignatureError("unexpected EOF" if raw else "EOF") from None
    except (cbor2.CBORDecodeError, ValueError, TypeError, RecursionError, MemoryError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, SignatureError) else error
        raise SignatureError(f"cbor: {str(cause)[:200]}") from None
    rest = len(raw) - stream.tell()
    if rest:
        at = stream.tell()
        raise SignatureError(f"cbor: {rest} bytes of extraneous data starting at index {at}")
    return value


def _refuse(_value: object, _immutable: bool) -> NoReturn:
    raise SignatureError("CBOR tag isn't allowed")


def _date(value: object, _immutable: bool) -> cbor2.CBORTag:
    """Return a date in numbers, still with its tag."""
    if isinstance(value, int | float) and type(value) is not bool and abs(value) <= _LATEST:
        return cbor2.CBORTag(_DATE_NUMBER, value)
    raise SignatureError("a time that is not a number")


def _date_text(value: object, _immutable: bool) -> cbor2.CBORTag:
    if not isinstance(value, str):
        raise SignatureError("a time that is not a text")
    try:
        parse_time(RFC3339, value)
    except TimeError as error:
        raise SignatureError(str(error)) from None
    return cbor2.CBORTag(_DATE_TEXT, value)


_NO_TAGS: Final = dict.fromkeys((_DATE_TEXT, _DATE_NUMBER, *_REFUSED_TAGS), _refuse)
_TIMES_ONLY: Final = {
    **dict.fromkeys(_REFUSED_TAGS, _refuse),
    _DATE_TEXT: _date_text,
    _DATE_NUMBER: _date,
}
