"""Requests and their answers: sent, redirected, tried again and in time."""

from __future__ import annotations

import http.client
import math
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPHeaderDict, ProxyManager
from urllib3.exceptions import HTTPError
from urllib3.util import Retry, Timeout

from chartkit import __version__
from chartkit.network.http.connections import (
    Dial,
    Hop,
    anywhere,
    login_of,
    pool,
    proxy_of,
    system_trust,
    through,
)
from chartkit.network.http.errors import Fault, NetworkError, failure
from chartkit.network.http.limits import Limits, within
from chartkit.network.http.urls import PORTS, HostPort, Url, UrlError, read_url, scheme_of

_REDIRECTING: Final = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD: Final = frozenset({307, 308})
_PASSING: Final = frozenset({408, 425, 429, 499, 500, 502, 503, 504, 522})
"""Answers that another attempt may better."""
_ANYWHERE: Final = frozenset({"accept", "content-type"})
"""Headers that follow a redirect to another origin."""
_HEADERS: Final = {"User-Agent": f"chartkit/{__version__}", "Accept-Encoding": "identity"}
_OK: Final = 200

Route = Callable[[Url, Sequence[Hop]], Dial]
"""The way to a URL; given: the URLs that redirected there, in order. Raises NetworkError, or what
the user of a transport has for a URL that is not asked."""
_CHUNK: Final = 65536
_DIGITS: Final = 19


@dataclass(frozen=True, slots=True)
class Request:
    """A request. most: bytes that the body of the response may have; size: bytes that it must have,
    None for any; via: the URL whose response leads to this one, as a redirect does, empty for none;
    follows: whether redirects are followed, or returned as responses."""

    url: str
    most: int
    headers: Mapping[str, str] | HTTPHeaderDict = field(default_factory=dict)
    method: str = "GET"
    body: bytes | None = None
    via: str = ""
    follows: bool = True
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A response. headers: by their names in lower case; attempts: how many requests it took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    attempts: int = 1

    @property
    def is_passing(self) -> bool:
        """Report whether another attempt may succeed."""
        return self.status in _PASSING

    @property
    def is_redirect(self) -> bool:
        """Report whether the answer redirects to another URL."""
        return self.status in _REDIRECTING and "location" in self.headers


class Transport:
    """Asks servers; holds open connections until it is closed.

    route: where each URL is asked, and whether at all; trust: which certificates are believed;
    environment: whether proxies and `~/.netrc` of the environment are taken (`logins`: the latter).
    A server that could not be reached in all attempts is not asked again.
    """

    def __init__(
        self,
        limits: Limits,
        route: Route = anywhere,
        trust: Callable[[], ssl.SSLContext] = system_trust,
        *,
        proxies: bool = True,
        logins: bool = False,
    ) -> None:
        self._limits = limits
        self._route = route
        self._trust = trust
        self._proxies = proxies
        self._logins = logins
        self._pools: dict[tuple[object, ...], tuple[Dial, HTTPConnectionPool]] = {}
        self._proxied: dict[str, ProxyManager] = {}
        self._down: dict[tuple[str, HostPort], NetworkError] = {}

    def close(self) -> None:
        """Close the connections."""
        for _, http_connection_pool in self._pools.values():
            http_connection_pool.close()
        for manager in self._proxied.values():
            manager.clear()

    def ask(self, request: Request) -> Response:
        """Return the response to the last attempt, of any status; raises NetworkError."""
        origin = _read(request.url).origin
        if origin in self._down:
            raise self._down[origin]
        pause, attempts = self._limits.pause, self._limits.attempts
        for attempt in range(1, attempts + 1):
            outcome = self._in_time(request)
            wait = retry_after(outcome.headers) if isinstance(outcome, Response) else None
            is_last = attempt == attempts or (wait or 0) > self._limits.longest_pause
            if is_last or not outcome.is_passing:
                break
            time.sleep(pause if wait is None else wait)
            pause *= 2
        if isinstance(outcome, Response):
            return replace(outcome, attempts=attempt)
        outcome.attempts = attempt
        if outcome.is_unanswered:
            self._down[origin] = outcome
        raise outcome

    def _in_time(self, request: Request) -> Response | NetworkError:
        def work() -> Response | NetworkError:
            try:
                with self.sent(request) as response:
                    announced = announced_length(response)
                    wrong = request.size is not None and announced not in (None, request.size)
                    if response.status == _OK and wrong:
                        raise NetworkError(Fault.SIZE, str(announced))
                    content, fault = read_body(response, request.most, self._limits.patience)
                    if fault is not None:
                        raise fault
                    headers = {key.lower(): value for key, value in response.headers.items()}
                    return Response(response.status, headers, content)
            except NetworkError as error:
                return error

        try:
            return within(self._limits.patience, work)
        except TimeoutError:
            return NetworkError(Fault.OVERDUE)

    @contextmanager
    def sent(self, request: Request) -> Iterator[BaseHTTPResponse]:
        """Send a request once and follow redirects; gives the answer with its body to be read.
        Raises NetworkError with the URL that failed."""
        here, path = _read(request.url), list[Hop]()
        if request.via:
            before = _read(request.via)
            dials = (dial for key, (dial, _) in self._pools.items() if key[:2] == before.origin)
            path.append(Hop(before, next(dials, Dial(before.host_port))))
        for _ in range(self._limits.redirects + 1):
            with _failing_at(here):
                dial, connections = self._connections(here, self._route(here, path))
                headers = HTTPHeaderDict(request.headers)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                login = here.authorization or (login_of(here) if self._logins else "")
                if login:
                    headers.setdefault("Authorization", login)
                response = connections.urlopen(
                    request.method,
                    here.absolute if isinstance(connections, ProxyManager) else here.target,
                    body=request.body,
                    headers=headers,
                    timeout=Timeout(connect=self._limits.connect, read=self._limits.silence),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    decode_content=False,
                )
            with _released(response):
                target = response.headers.get("Location")
                is_last = response.status not in _REDIRECTING or not target
                if is_last or not request.follows:
                    yield response
                    return
            there = _redirected(here, target or "")
            request = _redirected_request(request, response.status, here, there)
            path.append(Hop(here, dial))
            here = there
        raise _not_followed(path[-1].url, here.text, NetworkError(Fault.REDIRECTS))

    def _connections(self, here: Url, dial: Dial) -> tuple[Dial, HTTPConnectionPool | ProxyManager]:
        """Return the dial of a URL, and the pool of connections that it was made for."""
        proxy = proxy_of(here) if self._proxies else ""
        if proxy:
            dial.check_name()
            if proxy not in self._proxied:
                self._proxied[proxy] = through(proxy, self._trust())
            return dial, self._proxied[proxy]
        key = (*here.origin, dial.host_port, dial.outside)
        if key not in self._pools:
            self._pools[key] = dial, pool(here, dial, self._trust)
        return self._pools[key]


@contextmanager
def _released(response: BaseHTTPResponse) -> Iterator[None]:
    """Give the connection back when the block ends, if the whole answer was read."""
    try:
        yield
    finally:
        response.close()
        response.release_conn()


@contextmanager
def _failing_at(here: Url) -> Iterator[None]:
    """Turn what libraries raise into a NetworkError that knows its URL."""
    try:
        yield
    except NetworkError as error:
        error.url = error.url or here
        raise
    except (OSError, ValueError, HTTPError, http.client.HTTPException) as error:
        network_error = failure(error)
        network_error.url = here
        raise network_error from None


def _read(url: str) -> Url:
    try:
        return read_url(url)
    except UrlError as error:
        raise NetworkError(Fault.UNSENDABLE, str(error)) from None


def _redirected(here: Url, location: str) -> Url:
    """Return the target of a redirect; raises NetworkError where it is not followed."""
    text = location
    try:
        text = urljoin(here.text, location)
        scheme = scheme_of(text)
        if scheme not in PORTS:
            raise _not_followed(here, text, NetworkError(Fault.REDIRECT, scheme or "no scheme"))
        there = read_url(text)
    except ValueError as error:
        raise _not_followed(here, text, NetworkError(Fault.REDIRECT, "no URL", error)) from None
    if here.scheme == "https" and there.scheme == "http":
        raise _not_followed(here, text, NetworkError(Fault.DOWNGRADE))
    return there


def _not_followed(here: Url, target: str, error: NetworkError) -> NetworkError:
    error.url, error.target = here, target
    return error


def _redirected_request(request: Request, status: int, here: Url, there: Url) -> Request:
    """Return the request to a redirect's target: with data for 307 and 308 alone, and to another
    origin only with headers that any server may get."""
    if request.method != "GET" and status not in _KEEPS_METHOD:
        request = replace(request, method="GET", body=None)
    if there.origin == here.origin:
        return request
    kept = HTTPHeaderDict()
    for name, value in HTTPHeaderDict(request.headers).items():
        if name.lower() in _ANYWHERE:
            kept.add(name, value)
    return replace(request, headers=kept)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until a server wants to be asked again; None where it does not say.
    headers: by their names in lower case, or in any."""
    try:
        return Retry().parse_retry_after(headers.get("retry-after", ""))
    except (HTTPError, ValueError, OverflowError):
        return None


def read_body(
    response: BaseHTTPResponse, most: int, seconds: float = math.inf
) -> tuple[bytes, NetworkError | None]:
    """Return the body as it was sent, without any decoding, and why it is not whole; None if it is.
    most: bytes beyond which nothing more is read, and nothing at all where the server says how much
    will come; seconds: for all of it."""
    announced = announced_length(response)
    if announced is not None and announced > most:
        return b"", NetworkError(Fault.TOO_LARGE)
    deadline = time.monotonic() + seconds
    content = bytearray()
    try:
        while chunk := response.read(_CHUNK, decode_content=False):
            content += chunk
            if len(content) > most:
                return bytes(content[:most]), NetworkError(Fault.TOO_LARGE)
            if time.monotonic() > deadline:
                return bytes(content), NetworkError(Fault.OVERDUE)
    except (OSError, HTTPError, http.client.HTTPException) as error:
        return bytes(content), failure(error)
    return bytes(content), None


def announced_length(response: BaseHTTPResponse) -> int | None:
    """Return the bytes that a server says it sends; None where it does not say."""
    length = response.headers.get("Content-Length", "")
    # Python reads no number of thousands of digits, and nobody reads so many bytes.
    return int(length[:_DIGITS]) if length.isascii() and length.isdigit() else None
