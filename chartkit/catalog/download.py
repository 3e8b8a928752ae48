"""Takes an archive from a server that may be slow, broken or hostile."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable
from email.message import Message
from queue import Empty, SimpleQueue
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit

from chartkit import __version__
from chartkit.catalog.limits import Limits
from chartkit.errors import InputError
from chartkit.model import Location

_SCHEMES: Final = ("http", "https")
_CHUNK: Final = 65536
_REDIRECTS: Final = 5
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another attempt may better."""


class _Unsteady(Exception):  # noqa: N818 - no error yet: another attempt may do better
    """Why an attempt came to nothing."""


_Outcome = bytes | InputError | _Unsteady


def is_url(text: str) -> bool:
    """Whether a source is named by a URL."""
    return "://" in text


def split_url(url: str) -> SplitResult:
    """The parts of a URL of http or https; raises InputError for any other, or with a password."""
    place = Location(url)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InputError("is no URL", place) from None
    if parts.username or parts.password:
        hint = "it would stand in the lock file; download the archive yourself, and vendor the file"
        raise InputError("a URL with a name or password is not taken", Location(str(host)), hint)
    if parts.scheme.lower() not in _SCHEMES or not host:
        hint = "give an archive by http or https, a folder, or a git checkout"
        raise InputError("is no URL of http or https", place, hint)
    return parts


def download(url: str, limits: Limits) -> bytes:
    """What a URL holds; raises InputError with one line, also after the last attempt failed."""
    split_url(url)
    pause, why = limits.pause, ""
    for attempt in range(limits.attempts):
        if attempt:
            time.sleep(pause)
            pause *= 2
        outcome = _within(limits.patience, lambda: _attempt(url, limits))
        if isinstance(outcome, bytes):
            return outcome
        if isinstance(outcome, InputError):
            raise outcome
        why = str(outcome)
    hint = "try again later, or download it yourself and vendor the file"
    raise InputError(f"{why}, in {limits.attempts} attempts", Location(url), hint)


def _within(seconds: float, attempt: Callable[[], _Outcome]) -> _Outcome:
    """An attempt's outcome, if it has one in time.

    A server that sends a byte now and then keeps every single read alive, and a name may take long
    to resolve: only another thread can be left behind.
    """
    outcomes: SimpleQueue[_Outcome | None] = SimpleQueue()

    def run() -> None:
        outcome: _Outcome | None = None
        try:
            outcome = attempt()
        finally:
            outcomes.put(outcome)

    threading.Thread(target=run, daemon=True).start()
    try:
        found = outcomes.get(timeout=seconds)
    except Empty:
        return _Unsteady(f"the server was not done within {seconds:g} seconds")
    return _Unsteady("the download ended without a word") if found is None else found


def _attempt(url: str, limits: Limits) -> _Outcome:
    request = urllib.request.Request(
        url, headers={"User-Agent": f"chartkit/{__version__}", "Accept-Encoding": "identity"}
    )
    opener = urllib.request.build_opener(_Redirects(url), *_proxies(url))
    try:
        with opener.open(request, timeout=limits.silence) as response:
            return _read(response, url, limits)
    except HTTPError as error:
        error.close()
        return _refused(error, url)
    except InputError as error:
        return error
    except URLError as error:
        return _unreached(error.reason, url, limits)
    except (OSError, http.client.HTTPException) as error:
        return _unreached(error, url, limits)


def _proxies(url: str) -> list[urllib.request.BaseHandler]:
    """Proxies of the environment are asked, but not for this machine itself."""
    host = urlsplit(url).hostname or ""
    own = host == "localhost" or host.startswith("127.") or host == "::1"
    return [urllib.request.ProxyHandler({})] if own else []


def _read(response: Any, url: str, limits: Limits) -> _Outcome:
    length = response.headers.get("Content-Length", "")
    announced = int(length) if length.isascii() and length.isdigit() else None
    if announced is not None and announced > limits.archive:
        return _too_large(url, limits)
    content = bytearray()
    while chunk := response.read(_CHUNK):
        content += chunk
        if len(content) > limits.archive:
            return _too_large(url, limits)
    if announced is not None and len(content) < announced:
        return _Unsteady(f"the server cut the answer after {len(content):,} bytes")
    return bytes(content)


def _too_large(url: str, limits: Limits) -> InputError:
    return InputError(f"is larger than {limits.archive:,} bytes", Location(url))


def _refused(error: HTTPError, url: str) -> _Outcome:
    if 300 <= error.code < 400:
        what = f"redirects more than {_REDIRECTS} times, or to no URL of http and https"
        return InputError(what, Location(url))
    if error.code in _PASSING:
        return _Unsteady(f"the server answers {error.code}")
    return InputError(f"the server answers {error.code}", Location(url))


def _unreached(reason: object, url: str, limits: Limits) -> _Outcome:
    if isinstance(reason, ssl.SSLCertVerificationError):
        what = f"the server's certificate is not trusted: {reason.verify_message}"
        return InputError(what, Location(url))
    if isinstance(reason, TimeoutError):
        return _Unsteady(f"the server says nothing for {limits.silence:g} seconds")
    if isinstance(reason, http.client.IncompleteRead | http.client.RemoteDisconnected):
        return _Unsteady("the server cut the answer")
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return _Unsteady(f"the server cannot be reached: {text or type(reason).__name__}")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a few redirects, to http and https alone, and none that gives up encryption."""

    max_redirections = _REDIRECTS
    max_repeats = _REDIRECTS

    def __init__(self, url: str) -> None:
        self._url = url

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Raises InputError where it is no redirect to follow."""
        scheme = newurl.partition(":")[0].lower()
        if scheme not in _SCHEMES or (req.type == "https" and scheme != "https"):
            fp.close()
            raise InputError(f"redirects from {req.type} to {scheme}", Location(self._url))
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
