"""Takes a file from a server that may be slow, broken or hostile."""

from __future__ import annotations

import http.client
import ssl
import time
from contextlib import closing
from typing import Any, Final
from urllib.parse import urljoin

import requests
import urllib3.exceptions
from requests.adapters import HTTPAdapter

from chartkit import __version__
from chartkit.errors import InputError
from chartkit.fetch.faults import SILENT, causes, reason
from chartkit.fetch.limits import Limits
from chartkit.fetch.patience import within
from chartkit.fetch.reading import EndlessError, TooLargeError, read_body
from chartkit.fetch.urls import SCHEMES, split_url
from chartkit.model import Location

_REDIRECTS: Final = 5
_REDIRECTING: Final = frozenset({301, 302, 303, 307, 308})
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another attempt may better."""
_UNSENDABLE: Final = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidProxyURL,
    requests.exceptions.InvalidHeader,
    urllib3.exceptions.LocationValueError,
)
_HEADERS: Final = {"User-Agent": f"chartkit/{__version__}", "Accept-Encoding": "identity"}


class _Unsteady(Exception):  # noqa: N818 - no error yet: another attempt may do better
    """Why an attempt came to nothing."""


_Outcome = bytes | InputError | _Unsteady


def download(url: str, limits: Limits) -> bytes:
    """What a URL holds; raises InputError with one line, also after the last attempt failed.

    Proxies, a file of certificates (`REQUESTS_CA_BUNDLE`) and names with passwords (`~/.netrc`)
    are taken from the environment as `requests` does; the system's own certificates are trusted
    besides.
    """
    split_url(url)
    pause, why = limits.pause, ""
    for attempt in range(limits.attempts):
        if attempt:
            time.sleep(pause)
            pause *= 2
        outcome = _in_time(url, limits)
        if isinstance(outcome, bytes):
            return outcome
        if isinstance(outcome, InputError):
            raise outcome
        why = str(outcome)
    hint = "try again later, or download it yourself and vendor the file"
    raise InputError(f"{why}, in {limits.attempts} attempts", Location(url), hint)


def _in_time(url: str, limits: Limits) -> _Outcome:
    try:
        return within(limits.patience, lambda: _attempt(url, limits))
    except TimeoutError:
        return _Unsteady(f"the server was not done within {limits.patience:g} seconds")


def _attempt(url: str, limits: Limits) -> _Outcome:
    try:
        with requests.Session() as session:
            session.mount("https://", _SystemTrust())
            return _follow(session, url, limits)
    except InputError as error:
        return error
    except _UNSENDABLE as error:
        return InputError(f"cannot be asked for: {' '.join(str(error).split())}", Location(url))
    except (OSError, urllib3.exceptions.HTTPError) as error:
        return _unreached(error, url, limits)


class _SystemTrust(HTTPAdapter):
    """Trusts the certificates that the system does, besides those that `requests` brings.

    A company's own authority is mostly known to the system alone, or to `SSL_CERT_FILE`.
    """

    def init_poolmanager(self, *args: Any, **given: Any) -> None:
        """Gives every connection the system's certificates."""
        super().init_poolmanager(*args, **given, ssl_context=ssl.create_default_context())

    def proxy_manager_for(self, proxy: str, **given: Any) -> Any:
        """The same through a proxy."""
        given.setdefault("ssl_context", ssl.create_default_context())
        return super().proxy_manager_for(proxy, **given)


def _follow(session: requests.Session, url: str, limits: Limits) -> _Outcome:
    """Follows a few redirects, to http and https alone, and none that gives up encryption."""
    here = url
    for _ in range(_REDIRECTS + 1):
        response = session.get(
            here,
            headers=_HEADERS,
            timeout=limits.silence,
            stream=True,
            allow_redirects=False,
            proxies=_proxies(here),
        )
        with closing(response):
            target = response.headers.get("Location")
            if response.status_code not in _REDIRECTING or not target:
                return _answered(response, url, limits)
        there = urljoin(here, target)
        _check_redirect(here, there, url)
        here = there
    return InputError(f"redirects more than {_REDIRECTS} times", Location(url))


def _check_redirect(here: str, there: str, url: str) -> None:
    old, new = (each.partition(":")[0].lower() for each in (here, there))
    if new not in SCHEMES or (old == "https" and new != "https"):
        raise InputError(f"redirects from {old} to {new}", Location(url))
    split_url(there)


def _proxies(url: str) -> dict[str, Any] | None:
    """Proxies of the environment are asked, but not for this machine itself."""
    host = split_url(url).hostname or ""
    own = host == "localhost" or host.startswith("127.") or host == "::1"
    # None for a scheme keeps `requests` from taking the environment's proxy.
    return dict.fromkeys((*SCHEMES, "all")) if own else None


def _answered(response: requests.Response, url: str, limits: Limits) -> _Outcome:
    code = response.status_code
    if code in _PASSING:
        return _Unsteady(f"the server answers {code}")
    if code != requests.codes.ok:
        return InputError(f"the server answers {code}", Location(url))
    return _read(response, url, limits)


def _read(response: requests.Response, url: str, limits: Limits) -> _Outcome:
    try:
        return read_body(response, limits.archive, limits.patience)
    except TooLargeError:
        return _too_large(url, limits)
    except EndlessError:
        return _Unsteady(f"the server was not done within {limits.patience:g} seconds")
    except urllib3.exceptions.ProtocolError as error:
        cut = [x for x in causes(error) if isinstance(x, urllib3.exceptions.IncompleteRead)]
        if not cut:
            raise
        return _Unsteady(f"the server cut the answer after {cut[0].partial:,} bytes")


def _too_large(url: str, limits: Limits) -> InputError:
    return InputError(f"is larger than {limits.archive:,} bytes", Location(url))


def _unreached(error: Exception, url: str, limits: Limits) -> _Outcome:
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            what = f"the server's certificate is not trusted: {cause.verify_message}"
            hint = "name your authority's certificate in a file by REQUESTS_CA_BUNDLE"
            return InputError(what, Location(url), hint)
        if isinstance(cause, SILENT):
            return _Unsteady(f"the server says nothing for {limits.silence:g} seconds")
        if isinstance(cause, http.client.IncompleteRead | http.client.RemoteDisconnected):
            return _Unsteady("the server cut the answer")
    return _Unsteady(f"the server cannot be reached: {reason(error)}")
