"""Makes calls of services: each once, to hosts that the user names, and to no other.

`urllib3` encrypts and speaks HTTP. Whom it connects to, where redirects lead, how much is read and
how long is waited is decided here.
"""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from urllib3 import BaseHTTPResponse, HTTPHeaderDict
from urllib3.exceptions import HTTPError

from chartkit import __version__
from chartkit.engine.services import (
    MOST_BYTES,
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
    masked,
)
from chartkit.engine.values.quoting import quote
from chartkit.errors import LookupFailed
from chartkit.fetch.addresses import Address, is_forbidden, is_inside
from chartkit.fetch.patience import pauses, within
from chartkit.services.connections import (
    DialError,
    ForbiddenAddressError,
    Resolver,
    connection,
    reach,
    resolve,
)
from chartkit.services.faults import cause_of, failed
from chartkit.services.hosts import PORTS, AllowedHosts, Named, Place
from chartkit.services.urls import Destination, read_url, redirected, scheme_of, shown

_CHUNK: Final = 65536
_OVERHEAD: Final = 1000
_REDIRECTING: Final = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD: Final = frozenset({307, 308})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_NO_HEADER_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OWN: Final = frozenset({"host", "content-length", "transfer-encoding", "trailer"})
"""Headers that Go writes by itself, whatever a policy says."""
_ANYWHERE: Final = frozenset({"accept", "content-type"})
"""Headers that follow a redirect to another origin."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused beyond. connect: seconds to be connected; patience: seconds for a whole call
    (Kyverno's `apiCallTimeout`); redirects: how many are followed, as Go does; remembered: bytes
    of answers that are kept for who asks the same again."""

    connect: float = 10.0
    patience: float = 30.0
    redirects: int = 10
    remembered: int = 64 * 1024 * 1024


Outcome = ServiceAnswer | LookupFailed


class Services:
    """Who makes the calls of policies (see `chartkit.engine.services.ServiceSource`).

    Nothing is tried twice but what wants to be, and a host that was not reached in all its tries,
    or that was silent, is not asked again.
    """

    def __init__(
        self, allowed: AllowedHosts, limits: Limits | None = None, resolver: Resolver = resolve
    ) -> None:
        self._allowed = allowed
        self._limits = limits or Limits()
        self._resolver = resolver
        self._kept: OrderedDict[ServiceCall, Outcome] = OrderedDict()
        self._size = 0
        self._down: dict[Place, str] = {}

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        outcome = self._kept.get(call)
        if outcome is None:
            outcome = self._made(call)
            self._keep(call, outcome)
        if isinstance(outcome, LookupFailed):
            raise outcome.with_traceback(None)
        return outcome

    def _keep(self, call: ServiceCall, outcome: Outcome) -> None:
        self._kept[call] = outcome
        self._size += _size(call, outcome)
        while self._size > self._limits.remembered and len(self._kept) > 1:
            self._size -= _size(*self._kept.popitem(last=False))

    def _made(self, call: ServiceCall) -> Outcome:
        began, down = time.monotonic(), dict(self._down)
        outcome = self._tried(call)
        for pause in pauses(call.tries):
            late = time.monotonic() + pause - began > self._limits.patience
            if late or not _may_pass(outcome):
                break
            time.sleep(pause)
            self._down = dict(down)
            outcome = self._tried(call)
        return outcome

    def _tried(self, call: ServiceCall) -> Outcome:
        def work() -> Outcome:
            try:
                return self._follow(call)
            except LookupFailed as error:
                return type(error)(masked(error.message, call), hint=error.hint)

        try:
            return within(self._limits.patience, work)
        except TimeoutError:
            cause = f"no answer within {self._limits.patience:g} seconds"
            return self._silent(call, cause)

    def _silent(self, call: ServiceCall, cause: str) -> LookupFailed:
        here = read_url(call.url)
        self._down[here.place] = cause
        return failed(call, here.shown, cause)

    def _follow(self, call: ServiceCall) -> ServiceAnswer:
        before: Destination | None = None
        first, url = "", call.url
        headers = _headers(call)
        for _ in range(self._limits.redirects + 1):
            here = _destination(call, url, before)
            first = first or here.place.host
            named = self._named(here, before)
            guarded = here.place.host != first and not named.is_itself
            with self._sent(call, here, headers, self._dial(here, named, guarded)) as said:
                location = said.headers.get("Location")
                if said.status not in _REDIRECTING or not location:
                    return _read(said)
            url, before = redirected(here, location), here
            call = _redirected_call(call, said.status)
            headers = _headers_beyond(headers, here, url)
        raise failed(call, shown(url), f"stopped after {self._limits.redirects} redirects")

    def _named(self, here: Destination, before: Destination | None) -> Named:
        named = self._allowed.find(here.scheme, here.place)
        way = "" if before is None else f"{before.shown} redirects there, and "
        if named is None:
            text = f"{here.place} is not asked: {way}--allow-network does not name it"
            raise NotAllowedError(text)
        if before is not None and before.scheme == "https" and here.scheme == "http":
            text = f"{here.place} is not asked: {way}an encrypted call does not become a plain one"
            raise NotAllowedError(text)
        return named

    def _dial(self, here: Destination, named: Named, guarded: bool) -> _Dial:
        return _Dial(named.reached_at(here.place.port), guarded, self._resolver, self._limits)

    @contextmanager
    def _sent(
        self, call: ServiceCall, here: Destination, headers: HTTPHeaderDict, dial: _Dial
    ) -> Iterator[BaseHTTPResponse]:
        """What comes back, with its body still to be read."""
        if here.place in self._down:
            raise failed(call, here.shown, self._down[here.place])
        sent = HTTPHeaderDict(headers)
        if here.authorization and "authorization" not in sent:
            sent["Authorization"] = here.authorization
        # Longer than the patience for the whole call, which is what ends it.
        seconds = self._limits.patience + self._limits.connect
        with closing(connection(here, dial, call.authorities, seconds)) as made:
            try:
                made.request(
                    call.method,
                    here.target,
                    body=call.body,
                    headers=sent,
                    preload_content=False,
                    decode_content=False,
                )
                response = made.getresponse()
            except ForbiddenAddressError:
                raise NotAllowedError(f"{here.place} is not asked: {dial.refusal}") from None
            except DialError as error:
                self._down[here.place] = str(error)
                raise failed(call, here.shown, str(error)) from None
            except (OSError, ValueError, HTTPError, http.client.HTTPException) as error:
                raise failed(call, here.shown, cause_of(error)) from None
            yield response


@dataclass(frozen=True, slots=True)
class _Dial:
    """A connection that is made when it is called. guarded: not into private networks, for a
    redirect leads to another host than the policy's, and the user did not say where that is."""

    place: Place
    guarded: bool
    resolver: Resolver
    limits: Limits

    @property
    def refusal(self) -> str:
        """Why an address was refused."""
        if self.guarded:
            return "a redirect leads to an address of this machine, of a private network or a cloud"
        return "its name leads to a link-local address or a cloud's metadata service"

    def __call__(self) -> socket.socket:
        return reach(self.place, self.resolver, self._is_refused, self.limits.connect)

    def _is_refused(self, address: Address) -> bool:
        return is_forbidden(address) or (self.guarded and is_inside(address))


def _destination(call: ServiceCall, url: str, before: Destination | None) -> Destination:
    if scheme_of(url) not in PORTS:
        cause = f"unsupported protocol scheme {quote(scheme_of(url))}"
        raise failed(call, shown(url), cause)
    try:
        return read_url(url)
    except BadUrlError as error:
        if before is None:
            raise
        cause = f"failed to parse Location header: {error.message}"
        raise failed(call, before.shown, cause) from None


def _headers(call: ServiceCall) -> HTTPHeaderDict:
    """What is sent beside the data; raises LookupFailed for what no header can hold."""
    made = HTTPHeaderDict()
    for name, value in call.headers:
        if not _HEADER_NAME.match(name):
            cause = f"net/http: invalid header field name {quote(name)}"
            raise failed(call, shown(call.url), cause)
        if _NO_HEADER_VALUE.search(value):
            cause = f"net/http: invalid header field value for {quote(name)}"
            raise failed(call, shown(call.url), cause)
        if name.lower() not in _OWN:
            # The bytes of UTF-8, as Go sends them: `http.client` writes Latin-1.
            made.add(name, value.encode("utf-8", "replace").decode("latin-1"))
    made.setdefault("User-Agent", f"chartkit/{__version__}")
    made.setdefault("Accept-Encoding", "identity")
    return made


def _redirected_call(call: ServiceCall, status: int) -> ServiceCall:
    if call.method == "GET" or status in _KEEPS_METHOD:
        return call
    return replace(call, method="GET", body=None)


def _headers_beyond(headers: HTTPHeaderDict, here: Destination, url: str) -> HTTPHeaderDict:
    """What still goes along to where a redirect leads."""
    try:
        same = read_url(url).origin == here.origin
    except BadUrlError:
        same = False
    if same:
        return headers
    kept = HTTPHeaderDict()
    for name, value in headers.items():
        if name.lower() in _ANYWHERE:
            kept.add(name, value)
    return kept


def _read(response: BaseHTTPResponse) -> ServiceAnswer:
    content = bytearray()
    ending = Ending.WHOLE
    try:
        while len(content) <= MOST_BYTES and (part := response.read(_CHUNK)):
            content += part
    except (OSError, HTTPError, http.client.HTTPException):
        ending = Ending.CUT
    if len(content) > MOST_BYTES:
        ending = Ending.TOO_LARGE
    return ServiceAnswer(
        response.status, response.reason or "", bytes(content[:MOST_BYTES]), ending
    )


def _may_pass(outcome: Outcome) -> bool:
    """Whether another try may come to something else."""
    if isinstance(outcome, ServiceAnswer):
        return not outcome.is_success
    return not isinstance(outcome, NotAllowedError | BadUrlError)


def _size(call: ServiceCall, outcome: Outcome) -> int:
    """Bytes that an outcome takes, about."""
    asked = len(call.url) + len(call.body or b"") + len(call.authorities) + _OVERHEAD
    return asked + (len(outcome.body) if isinstance(outcome, ServiceAnswer) else 0)
