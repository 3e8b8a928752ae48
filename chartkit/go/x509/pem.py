"""PEM, and the certificates and signing requests in it, as Go reads them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from chartkit.go.x509.certificates import AlgorithmError, decode_certificate, decode_request
from chartkit.go.x509.der import DerError
from chartkit.model import Body

_PEM = re.compile(
    r"^-----BEGIN (?P<type>[^\n]*?)-----[ \t\r]*\n(?P<body>.*?)^-----END (?P=type)-----[ \t\r]*$",
    re.MULTILINE | re.DOTALL,
)
_HEADERS = re.compile(r"\A(?:[^\n:]+:[^\n]*\n)+\s*\n")
CERTIFICATE = "CERTIFICATE"
_DECODERS = {CERTIFICATE: decode_certificate, "CERTIFICATE REQUEST": decode_request}


class CertificateError(ValueError):
    """A text that holds no RSA certificate or request; the message is Kyverno's or Go's."""


def decode_pem(text: str) -> tuple[str, Body]:
    """The type of a text's first block and its fields, as Go's `crypto/x509` names them.

    Raises `CertificateError`.
    """
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
