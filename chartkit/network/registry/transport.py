"""Requests to registries, with failures in the words of the tools that ask registries."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import urlencode

from chartkit.go.fmt import go_sprint
from chartkit.model import Json
from chartkit.network.http import transport
from chartkit.network.http.connections import encrypted
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.limits import Limits
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


_LONGEST: Final = 400
"""Characters of a diagnosis that are shown."""


def diagnosis(answer: Response) -> str:
    """Return the diagnostics of a response, or its status and body where it has none."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    errors = body.get("errors") if isinstance(body, dict) else None
    if isinstance(errors, list) and errors:
        texts = [_diagnostic(one) for one in errors[:5] if isinstance(one, dict)]
        many = "multiple errors returned: " if len(texts) > 1 else ""
        return printable(many + "; ".join(texts))
    text = _status(answer)
    raw = answer.body.decode(errors="replace")
    return printable(f"{text}: {raw}" if raw.strip() else text)


def head_diagnosis(answer: Response) -> str:
    """Return the diagnosis of the same response without its body."""
    return f"{_status(answer)} (HEAD responses have no body, use GET for details)"


def _status(answer: Response) -> str:
    try:
        phrase = http.HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    return f"unexpected status code {answer.status} {phrase}"


def _diagnostic(body: Mapping[str, Json]) -> str:
    text = f"{body.get('code', '')}: {body.get('message', '')}"
    detail = body.get("detail")
    return text if detail is None else f"{text}; {go_sprint(detail)}"


def printable(text: str) -> str:
    """Return a text in one line, cut and without control characters."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "�" for letter in line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
