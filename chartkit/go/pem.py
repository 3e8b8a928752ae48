"""Blocks in PEM, and the certificates among them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

CERTIFICATE = "CERTIFICATE"
_BLOCK = re.compile(
    r"^-----BEGIN (?P<type>[^\n]*?)-----[ \t\r]*\n(?P<body>.*?)^-----END (?P=type)-----[ \t\r]*$",
    re.MULTILINE | re.DOTALL,
)
_HEADERS = re.compile(r"\A(?:[^\n:]+:[^\n]*\n)+\s*\n")


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
