"""Why a call came to nothing, in the words of Go's HTTP client where it has any."""

from __future__ import annotations

import http.client
import ssl
from typing import Final

from urllib3.exceptions import InvalidHeader

from chartkit.engine.services import ServiceCall
from chartkit.errors import LookupFailed
from chartkit.fetch.faults import SILENT, causes, reason

_UNTRUSTED: Final = "tls: failed to verify certificate: x509"
_UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})
"""What OpenSSL calls a certificate that nobody trusted has issued."""


def failed(call: ServiceCall, shown: str, cause: str) -> LookupFailed:
    """The error of a call; shown: the URL, in quotes."""
    return LookupFailed(f"{call.method.capitalize()} {shown}: {cause}")


def cause_of(error: BaseException) -> str:
    """What went wrong behind a connection, on one line."""
    for each in causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            if each.verify_code in _UNKNOWN_AUTHORITY:
                return f"{_UNTRUSTED}: certificate signed by unknown authority"
            return f"{_UNTRUSTED}: {each.verify_message}"
        if isinstance(each, ssl.SSLError):
            return f"tls: {(each.reason or 'handshake failure').replace('_', ' ').lower()}"
        if isinstance(each, SILENT):
            # Anything else that takes long ends with the patience for the whole call.
            return "net/http: TLS handshake timeout"
        if isinstance(each, http.client.RemoteDisconnected | ConnectionResetError):
            return "EOF"
        if isinstance(each, http.client.HTTPException | InvalidHeader):
            return "malformed HTTP response"
    return reason(error)
