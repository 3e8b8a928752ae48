"""One GET (or POST, for tokens) to a server that may be slow, broken or hostile.

`requests` connects, encrypts and speaks HTTP. What it would do by itself is taken from it:
redirects are followed here and only to https, bodies are bounded, `~/.netrc` is not read.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import requests
import urllib3.exceptions
from requests.adapters import HTTPAdapter

from chartkit import __version__
from chartkit.fetch.addresses import is_forbidden, is_loopback, literal
from chartkit.fetch.faults import SILENT, causes, reason
from chartkit.fetch.patience import within
from chartkit.fetch.reading import EndlessError, TooLargeError, announced_length, read_body
from chartkit.registry.addresses import POOLS, ForbiddenAddressError
from chartkit.registry.errors import PassingError, RegistryError, unreachable
from chartkit.registry.settings import Limits, Settings

_REDIRECTING: Final = frozenset({301, 302, 303, 307, 308})
_PASSING: Final = frozenset({408, 425, 429, 499, 500, 502, 503, 504, 522})
_CUT: Final = (
    http.client.IncompleteRead,
    urllib3.exceptions.IncompleteRead,
    http.client.RemoteDisconnected,
)
"""To Go these are the end of an answer; a connection that is reset is the network's fault."""
_NO_TLS: Final = frozenset(
    ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
)
"""What OpenSSL says of an answer that is no handshake."""
_AGENT: Final = f"chartkit/{__version__}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said; headers: by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Question:
    """headers: sent to the first host alone, but for Accept; form: what is posted, None for a GET;
    limit: bytes that an answer may have; size: bytes that it must have, None where nobody knows.
    """

    url: str
    headers: Mapping[str, str]
    limit: int
    form: Mapping[str, str] | None = None
    size: int | None = None


class Transport:
    """Asks servers, again where that may help; holds open connections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits: Limits = settings.limits
        self._session = _Session()
        adapter = _Trusting(settings)
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, adapter)
        self._down: dict[str, str] = {}

    def ask(self, question: Question) -> Answer:
        """The answer, whatever its status is; raises RegistryError where there is none.

        A server that could not be reached in all attempts is not asked again.
        """
        host = _place(question.url)
        if host in self._down:
            raise RegistryError(self._down[host], unanswered=True)
        pause, last = self._limits.pause, PassingError("")
        for attempt in range(self._limits.attempts):
            if attempt:
                time.sleep(pause if last.pause is None else last.pause)
                pause *= 2
            outcome = self._within(question)
            if isinstance(outcome, Answer):
                if outcome.status not in _PASSING:
                    return outcome
                last = PassingError("")
                last.pause = _retry_after(outcome.headers.get("retry-after", ""))
                over = (last.pause or 0) > self._limits.longest_pause
                if over or attempt + 1 == self._limits.attempts:
                    return outcome
            elif isinstance(outcome, PassingError):
                last = outcome
            else:
                raise outcome
        text = f"{last.message}, in {self._limits.attempts} attempts"
        if last.host:
            self._down[last.host] = text
        raise RegistryError(text, unanswered=last.unanswered)

    def _within(self, question: Question) -> Answer | RegistryError:
        try:
            return within(self._limits.patience, lambda: self._attempt(question))
        except TimeoutError:
            text = f"GET {shown(question.url)}: no answer within {self._limits.patience:g} seconds"
            return unreachable(text, _place(question.url))

    def _attempt(self, question: Question) -> Answer | RegistryError:
        try:
            return self._follow(question)
        except RegistryError as error:
            return error
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            return _unreached(error, question.url, self._limits)

    def _follow(self, question: Question) -> Answer:
        here, headers = question.url, dict(question.headers)
        for _ in range(self._limits.redirects + 1):
            _check_host(here)
            response = self._session.request(
                "GET" if question.form is None else "POST",
                here,
                headers={"User-Agent": _AGENT, "Accept-Encoding": "identity", **headers},
                data=question.form,
                timeout=self._limits.silence,
                stream=True,
                allow_redirects=False,
                auth=_as_it_is,
                proxies=_proxies(here),
            )
            with closing(response):
                target = response.headers.get("Location")
                if response.status_code not in _REDIRECTING or not target:
                    return _read(response, question, self._limits)
                if question.form is not None:
                    raise RegistryError(f"POST {shown(here)}: redirects, which is not followed")
            there = _redirected(here, target)
            if urlsplit(there).netloc != urlsplit(here).netloc:
                headers = {key: value for key, value in headers.items() if key == "Accept"}
            here = there
        raise _refused(question.url, f"redirects more than {self._limits.redirects} times")


def shown(url: str) -> str:
    """A URL as it may be shown: without name, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _place(url: str) -> str:
    """Scheme and host: who is silent encrypted may speak otherwise."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class _Session(requests.Session):
    """Leaves redirects alone: `requests` would read the whole body of one to look ahead."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:  # noqa: ARG002
        """Nowhere."""
        return None


class _Trusting(HTTPAdapter):
    """Trusts what the system does and the authorities of the user, and goes to no forbidden
    address."""

    def __init__(self, settings: Settings) -> None:
        self._context = _trust() if settings.authorities is None else ssl.create_default_context()
        if settings.authorities is not None:
            self._context.load_verify_locations(cafile=str(settings.authorities))
        super().__init__()

    def init_poolmanager(self, *args: Any, **given: Any) -> None:
        """Gives every connection the certificates and the check of its address."""
        super().init_poolmanager(*args, **given, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **given: Any) -> Any:
        """The same trust through a proxy, which resolves names by itself."""
        given.setdefault("ssl_context", self._context)
        return super().proxy_manager_for(proxy, **given)


@cache
def _trust() -> ssl.SSLContext:
    """The system's certificates, which take a while to read."""
    return ssl.create_default_context()


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps `requests` from adding what `~/.netrc` says to a request."""
    return request


def _proxies(url: str) -> dict[str, Any] | None:
    """Proxies of the environment are asked, but not for this machine itself."""
    own = is_loopback(urlsplit(url).hostname or "")
    return dict.fromkeys(("http", "https", "all")) if own else None


def _check_host(url: str) -> None:
    address = literal(urlsplit(url).hostname or "")
    if address is not None and is_forbidden(address):
        raise _refused(url, "an address that is never asked")


def _redirected(here: str, target: str) -> str:
    """Where a redirect leads to; raises RegistryError where nobody goes."""
    try:
        there = urljoin(here, target)
        before, after = urlsplit(here), urlsplit(there)
        host = after.hostname or ""
    except ValueError:
        raise _refused(here, "redirects to no URL") from None
    if after.scheme != "https":
        raise _refused(here, f"redirects to {after.scheme or 'no scheme'}")
    address = literal(host)
    inside = is_loopback(host) or (address is not None and address.is_private)
    if inside and host != before.hostname:
        raise _refused(here, f"redirects to the private address {host}")
    return there


def _read(response: requests.Response, question: Question, limits: Limits) -> Answer:
    announced = announced_length(response)
    is_there = response.status_code == http.HTTPStatus.OK and announced is not None
    if is_there and question.size not in (None, announced):
        raise RegistryError(
            f"GET {shown(question.url)}: Content-Length header {announced} does not match "
            f"expected size {question.size}"
        )
    try:
        content = read_body(response, question.limit, limits.patience)
    except TooLargeError:
        text = f"the answer is larger than {question.limit:,} bytes"
        raise _refused(question.url, text) from None
    except EndlessError:
        raise PassingError(f"GET {shown(question.url)}: the answer does not end") from None
    headers = {key.lower(): value for key, value in response.headers.items()}
    return Answer(response.status_code, headers, content)


def _retry_after(text: str) -> float | None:
    """Seconds until a server wants to be asked again; None where it does not say."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    zoned = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (zoned - datetime.now(UTC)).total_seconds())


def _unreached(error: Exception, url: str, limits: Limits) -> RegistryError:
    what = f"GET {shown(url)}"
    host = _place(url)
    for cause in causes(error):
        if isinstance(cause, ForbiddenAddressError):
            return _refused(url, "an address that is never asked")
        if isinstance(cause, ssl.SSLCertVerificationError):
            text = f"{what}: the certificate is not trusted: {cause.verify_message}"
            hint = "name your authority's certificates by --registry-ca"
            return RegistryError(text, hint, unanswered=True)
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            hint = "a registry without encryption is named by --registry-plain-http"
            return RegistryError(f"{what}: the server does not speak TLS", hint, unanswered=True)
        if isinstance(cause, SILENT):
            text = f"{what}: the server says nothing for {limits.silence:g} seconds"
            return unreachable(text, host)
        if isinstance(cause, _CUT):
            return PassingError(f"{what}: the server cut the answer")
        if isinstance(cause, ConnectionResetError):
            return PassingError(f"{what}: the server cut the answer", unanswered=True)
    if isinstance(error, ValueError):
        return _refused(url, "cannot be asked for")
    return unreachable(f"{what}: the server cannot be reached: {reason(error)}", host)


def _refused(url: str, why: str) -> RegistryError:
    """A question that is not asked, or an answer that is not read."""
    return RegistryError(f"GET {shown(url)}: {why}", unanswered=True)
