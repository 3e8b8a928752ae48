"""Requests to registries, with failures in the words of the tools that ask registries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import urlencode

from chartkit.network.http import transport
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.limits import Limits
from chartkit.network.http.routes import encrypted
from chartkit.network.http.transport import Request, Response
from chartkit.network.http.trust import system_trust
from chartkit.network.http.urls import shown_url
from chartkit.network.registry.errors import RegistryError
from chartkit.network.registry.settings import Settings

_ANSWERED: Final = frozenset({Fault.CUT, Fault.SIZE})
"""Faults that Go takes for the end of a response; a reset connection is a fault of the network."""
_HINTS: Final[Mapping[Fault, str]] = {
    Fault.UNTRUSTED: "name your authority's certificates by --registry-ca",
    Fault.PLAIN: "a registry without encryption is named by --registry-plain-http",
}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class Transport:
    """Sends requests to registries; holds open connections."""

    def __init__(self, settings: Settings) -> None:
        self._limits: Limits = settings.limits
        trust = partial(system_trust, settings.authorities)
        self._transport = transport.Transport(settings.limits, encrypted, trust)

    def ask(self, request: Request) -> Response:
        """Return the response, of any status; raises RegistryError where there is none."""
        try:
            response = self._transport.ask(request)
        except NetworkError as error:
            raise self._failed(error, request) from None
        if not request.follows and response.is_redirect:
            what = f"{request.method} {shown_url(request.url)}"
            raise RegistryError(f"{what}: redirects, which is not followed")
        return response

    def _failed(self, error: NetworkError, request: Request) -> RegistryError:
        text = f"GET {shown_url(request.url)}: {_words(error, request, self._limits)}"
        if error.is_passing:
            text += f", in {error.attempts} attempts"
        unanswered = error.fault not in _ANSWERED
        return RegistryError(text, _HINTS.get(error.fault), unanswered)


def form_request(
    url: str, form: Mapping[str, str], headers: Mapping[str, str], most: int, via: str
) -> Request:
    """Return a POST of a form, which follows no redirect; see `Request` for most and via."""
    body = urlencode(form).encode("ascii")
    return Request(url, most, {**headers, **_FORM}, "POST", body, via, follows=False)


def _words(error: NetworkError, request: Request, limits: Limits) -> str:
    words = {
        Fault.UNSENDABLE: "cannot be requested",
        Fault.DOWNGRADE: "redirects to http",
        Fault.UNTRUSTED: f"the certificate is not trusted: {error.detail}",
        Fault.TOO_LARGE: f"the answer is larger than {request.most:,} bytes",
        Fault.SIZE: f"Content-Length header {error.detail} does not match expected size "
        f"{request.size}",
    }
    return words.get(error.fault) or error.words(limits)
