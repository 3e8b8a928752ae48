"""Makes calls of services: each once, to hosts that the user names as they are written in policies'
URLs, and to no other. Errors are in the words of Go's HTTP client where it has any."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from urllib3 import HTTPHeaderDict

from chartkit.engine.ports.services import (
    MOST_BYTES,
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
    masked,
)
from chartkit.errors import ChartkitError, LookupFailed
from chartkit.go.strconv import quote
from chartkit.go.x509 import certificates
from chartkit.network.http import limits as net
from chartkit.network.http.connections import (
    AllowedHosts,
    Dial,
    Hop,
    Resolver,
    resolve,
    system_trust,
    trust_in,
)
from chartkit.network.http.errors import DialError, Fault, NetworkError
from chartkit.network.http.limits import Memory, pauses, within
from chartkit.network.http.transport import Request, Transport, read_body
from chartkit.network.http.urls import (
    PORTS,
    HostPort,
    Url,
    UrlError,
    read_url,
    scheme_of,
    shown_url,
)

_OVERHEAD: Final = 1000
_TRUSTS: Final = 8
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_NO_HEADER_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OWN: Final = frozenset({"host", "content-length", "transfer-encoding", "trailer"})
"""Headers that Go writes by itself, whatever a policy says."""
_GUARDED: Final = "a redirect leads to an address of this machine, of a private network or a cloud"
_FORBIDDEN: Final = "its name leads to a link-local address or a cloud's metadata service"
Outcome = ServiceAnswer | LookupFailed
_UNTRUSTED: Final = "tls: failed to verify certificate: x509"
_UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a certificate of an unknown authority."""


@dataclass(frozen=True, slots=True)
class Limits(net.Limits):
    """Limits of calls, in addition to those of a request: patience is Kyverno's `apiCallTimeout`,
    and as many redirects are followed as by Go.

    remembered: bytes of answers that are kept for the same call.
    """

    silence: float = 60.0
    redirects: int = 10
    remembered: int = 64 * 1024 * 1024


class Services:
    """The services that policies call (see `chartkit.engine.ports.ServiceSource`). Only calls with
    retries are made again. A host that was not reached, or was silent, is not asked again."""

    def __init__(
        self, allowed: AllowedHosts, limits: Limits | None = None, resolver: Resolver = resolve
    ) -> None:
        self._allowed = allowed
        self._limits = limits or Limits()
        self._resolver = resolver
        self._known: Memory[ServiceCall, ServiceAnswer] = Memory(self._limits.remembered, _size)
        self._down: dict[HostPort, str] = {}

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        return self._known.once(call, lambda: self._made(call))

    def _made(self, call: ServiceCall) -> ServiceAnswer:
        began, down = time.monotonic(), dict(self._down)
        outcome = self._tried(call)
        for pause in pauses(call.tries):
            late = time.monotonic() + pause - began > self._limits.patience
            if late or not _may_pass(outcome):
                break
            time.sleep(pause)
            self._down = dict(down)
            outcome = self._tried(call)
        if isinstance(outcome, LookupFailed):
            raise outcome
        return outcome

    def _tried(self, call: ServiceCall) -> Outcome:
        def work() -> Outcome:
            try:
                return self._asked(call)
            except LookupFailed as error:
                return type(error)(masked(error.message, call), hint=error.hint)

        try:
            return within(self._limits.patience, work)
        except TimeoutError:
            cause = f"no answer within {self._limits.patience:g} seconds"
            self._down[read_url(call.url).host_port] = cause
            return failed(call, call.url, cause)

    def _asked(self, call: ServiceCall) -> ServiceAnswer:
        if scheme_of(call.url) not in PORTS:
            raise failed(call, call.url, unspoken(call.url))
        try:
            read_url(call.url)
        except UrlError as error:
            raise bad_url(call.url, error) from None
        route = partial(self._route, call)
        trust = partial(_trust, call.authorities)
        # Headers that HTTP cannot send are refused.
        made = HTTPHeaderDict()
        for name, value in call.headers:
            if not _HEADER_NAME.match(name):
                cause = f"net/http: invalid header field name {quote(name)}"
                raise failed(call, call.url, cause)
            if _NO_HEADER_VALUE.search(value):
                cause = f"net/http: invalid header field value for {quote(name)}"
                raise failed(call, call.url, cause)
            if name.lower() not in _OWN:
                # The bytes of UTF-8, as Go sends them: `http.client` writes Latin-1.
                made.add(name, value.encode("utf-8", "replace").decode("latin-1"))
        request = Request(call.url, MOST_BYTES, made, call.method, call.body)
        with closing(Transport(self._limits, route, trust, proxies=False)) as transport:
            try:
                with transport.sent(request) as response:
                    content, fault = read_body(response, MOST_BYTES)
                    ending = Ending.WHOLE
                    if fault is not None:
                        ending = Ending.TOO_LARGE if fault.fault is Fault.TOO_LARGE else Ending.CUT
                    return ServiceAnswer(response.status, response.reason or "", content, ending)
            except NetworkError as error:
                here = error.url
                if here is not None and error.fault is Fault.DOWNGRADE:
                    text = "an encrypted call does not become a plain one"
                    failure: LookupFailed = _not_asked(read_url(error.target).host_port, here, text)
                elif here is not None and error.fault in (Fault.FORBIDDEN, Fault.INSIDE):
                    why = _GUARDED if error.fault is Fault.INSIDE else _FORBIDDEN
                    failure = NotAllowedError(f"{here.host_port} is not asked: {why}")
                else:
                    if here is not None and isinstance(error, DialError):
                        self._down[here.host_port] = cause_of(error)
                    failure = failure_of(call, error, self._limits.redirects)
                raise failure from None

    def _route(self, call: ServiceCall, here: Url, path: Sequence[Hop]) -> Dial:
        """Return the way to a host that the user names: by a redirect to another one not into
        private networks, unless the user said where that host is."""
        named = self._allowed.find(here.scheme, here.host_port)
        before = path[-1].url if path else None
        if named is None:
            raise _not_asked(here.host_port, before, "--allow-network does not name it")
        if here.host_port in self._down:
            raise failed(call, here.text, self._down[here.host_port])
        return named.dial(here, path, self._resolver)


def _not_asked(host_port: HostPort, before: Url | None, why: str) -> NotAllowedError:
    way = "" if before is None else f"{shown(before.text)} redirects there, and "
    return NotAllowedError(f"{host_port} is not asked: {way}{why}")


@lru_cache(maxsize=_TRUSTS)
def _trust(authorities: str) -> ssl.SSLContext:
    """The trust in a policy's certificates (PEM), or in the system's without them."""
    if not authorities:
        return system_trust()
    try:
        return trust_in(b"".join(certificates(authorities)))
    except (ssl.SSLError, ValueError):
        raise LookupFailed("failed to parse PEM CA bundle") from None


def _may_pass(outcome: Outcome) -> bool:
    if isinstance(outcome, ServiceAnswer):
        return not outcome.is_success
    return not isinstance(outcome, NotAllowedError | BadUrlError)


def _size(call: ServiceCall, outcome: ServiceAnswer | ChartkitError) -> int:
    asked = len(call.url) + len(call.body or b"") + len(call.authorities) + _OVERHEAD
    return asked + (len(outcome.body) if isinstance(outcome, ServiceAnswer) else 0)


def shown(url: str) -> str:
    """Return a URL as messages have it: `shown_url`, in quotes."""
    return quote(shown_url(url))


def failed(call: ServiceCall, url: str, cause: str) -> LookupFailed:
    """Return the error of a call; url: the one that failed."""
    return LookupFailed(f"{call.method.capitalize()} {shown(url)}: {cause}")


def bad_url(url: str, error: UrlError) -> BadUrlError:
    """Return the error of a text that is not a URL, in the words of Go's `net/url`."""
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
    """Return the cause of a failed connection, on one line."""
    if isinstance(error, DialError):
        if error.is_unknown:
            return f"dial tcp: lookup {error.host_port.host}: no such host"
        why = "i/o timeout" if error.is_late else f"connect: {error.detail.lower()}"
        return f"dial tcp {error.host_port}: {why}"
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
        Fault.MALFORMED: "malformed HTTP response",
    }
    return words.get(error.fault, error.detail)
