"""Errors of calls, in the words of Go's HTTP client where it has any."""

from __future__ import annotations

import ssl
from typing import Final

from chartkit.engine.ports import BadUrlError, ServiceCall
from chartkit.errors import LookupFailed
from chartkit.go.strconv import quote
from chartkit.network.http.errors import DialError, Fault, NetworkError
from chartkit.network.http.urls import UrlError, scheme_of, shown_url

_UNTRUSTED: Final = "tls: failed to verify certificate: x509"
_UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a certificate of an unknown authority."""


def shown(url: str) -> str:
    """Return a URL as messages have it: `shown_url`, in quotes."""
    return quote(shown_url(url))


def failed(call: ServiceCall, url: str, cause: str) -> LookupFailed:
    """Return the error of a call; url: the one that failed."""
    return LookupFailed(f"{call.method.capitalize()} {shown(url)}: {cause}")


def bad_url(url: str, error: UrlError) -> BadUrlError:
    """Return the error of a text that is no URL, in the words of Go's `net/url`."""
    return BadUrlError(f"parse {shown(url)}: {error}")


def failure_of(call: ServiceCall, error: NetworkError, redirects: int) -> LookupFailed:
    """Return the error of a call that a server did not answer; redirects: how many are followed."""
    where = error.url.text if error.url else call.url
    if error.fault is Fault.REDIRECTS:
        return failed(call, error.target, f"stopped after {redirects} redirects")
    if error.fault is Fault.REDIRECT and isinstance(error.cause, UrlError):
        cause = f"failed to parse Location header: {bad_url(error.target, error.cause).message}"
        return failed(call, where, cause)
    if error.fault is Fault.REDIRECT:
        return failed(call, error.target, unspoken(error.target))
    return failed(call, where, cause_of(error))


def unspoken(url: str) -> str:
    """Return why a URL's scheme is not asked."""
    return f"unsupported protocol scheme {quote(scheme_of(url))}"


def cause_of(error: NetworkError) -> str:
    """Return what went wrong behind a connection, on one line."""
    if isinstance(error, DialError):
        return _not_reached(error)
    if error.fault is Fault.UNTRUSTED and isinstance(error.cause, ssl.SSLCertVerificationError):
        if error.cause.verify_code in _UNKNOWN_AUTHORITY:
            return f"{_UNTRUSTED}: certificate signed by unknown authority"
        return f"{_UNTRUSTED}: {error.detail}"
    if error.fault in (Fault.TLS, Fault.PLAIN):
        return f"tls: {(error.detail or 'handshake failure').replace('_', ' ').lower()}"
    words = {
        # Anything else that takes long ends with the patience for the whole call.
        Fault.SILENT: "net/http: TLS handshake timeout",
        Fault.CUT: "EOF",
        Fault.RESET: "EOF",
        Fault.MALFORMED: "malformed HTTP response",
    }
    return words.get(error.fault, error.detail)


def _not_reached(error: DialError) -> str:
    if error.is_unknown:
        return f"dial tcp: lookup {error.place.host}: no such host"
    why = "i/o timeout" if error.is_late else f"connect: {error.detail.lower()}"
    return f"dial tcp {error.place}: {why}"
