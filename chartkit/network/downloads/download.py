"""Takes a file from a server that may be slow, broken or hostile."""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.lockfile import Limits
from chartkit.network.http.connections import anywhere
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.transport import Request, Response, Route, Transport
from chartkit.network.http.urls import Url, UrlError, read_url, shown_url

_AGAIN = "try again later, or download it yourself and vendor the file"
_HINTS = {
    Fault.UNNAMED: "name the host with it: chartkit connects to no other",
    Fault.FORBIDDEN: "it is link-local, or a cloud's metadata service",
    Fault.INSIDE: "give the URL that it leads to, if that is where the file should come from",
    Fault.UNTRUSTED: "name your authority's certificate in a file by REQUESTS_CA_BUNDLE",
}


def download(url: str, limits: Limits, route: Route = anywhere) -> bytes:
    """Return what a URL holds; raises InputError with one line, also after the last attempt failed.

    route: which hosts may be asked.

    Proxies, a file of certificates (`REQUESTS_CA_BUNDLE`) and names with passwords (`~/.netrc`)
    are taken from the environment; the system's own certificates are trusted besides.
    """
    checked_url(url)
    location = Location(shown_url(url))
    with closing(Transport(limits, route, logins=True)) as transport:
        answer = asked(transport, Request(url, limits.archive), limits)
    return body_of(answer, location)


def asked(transport: Transport, request: Request, limits: Limits) -> Response:
    """Return the response to a request; raise InputError where there is none."""
    try:
        return transport.ask(request)
    except NetworkError as error:
        raise failed(error, Location(shown_url(request.url)), limits) from None


def body_of(answer: Response, location: Location) -> bytes:
    """Return what a server answers; raise InputError for any other status than 200."""
    if answer.is_passing:
        text = f"the server answers {answer.status}, in {answer.attempts} attempts"
        raise InputError(text, location, _AGAIN)
    if answer.status != HTTPStatus.OK:
        raise InputError(f"the server answers {answer.status}", location)
    return answer.body


def failed(error: NetworkError, location: Location, limits: Limits) -> InputError:
    """Return the error of a source that could not be reached."""
    text = _words(error, limits)
    if error.is_passing:
        return InputError(f"{text}, in {error.attempts} attempts", location, _AGAIN)
    return InputError(text, location, _HINTS.get(error.fault))


def _words(error: NetworkError, limits: Limits) -> str:
    if error.fault is Fault.CUT and error.detail:
        return f"the server cut the answer after {error.detail} bytes"
    if error.fault is Fault.REDIRECT and error.url is not None:
        return f"redirects from {error.url.scheme} to {error.detail}"
    if error.fault is Fault.OVERDUE:
        return f"the server did not finish within {limits.patience:g} seconds"
    if error.fault is Fault.TOO_LARGE:
        return f"is larger than {limits.archive:,} bytes"
    return error.words(limits)


_SHAPE = "give a URL of http or https, or a path"
_SECRET = "the lock file would contain it: keep it in ~/.netrc, or download the file yourself"


def checked_url(url: str) -> Url:
    """Return a URL of http or https; raises InputError for any other, or with a password."""
    location = Location(shown_url(url))
    try:
        found = read_url(url)
    except UrlError:
        raise InputError("is not an http or https URL", location, _SHAPE) from None
    if found.authorization:
        raise InputError("a URL must not contain a name or password", location, _SECRET)
    return found
