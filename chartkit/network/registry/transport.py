"""One GET (or POST, for tokens) to a registry; what comes of it in a registry's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlencode

from chartkit.network.http import transport
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.routes import encrypted
from chartkit.network.http.transport import Answer, Request
from chartkit.network.http.trust import system_trust
from chartkit.network.http.urls import shown_url
from chartkit.network.registry.errors import RegistryError
from chartkit.network.registry.settings import Limits, Settings

_ANSWERED: Final = frozenset({Fault.CUT, Fault.SIZE})
"""To Go these are the end of an answer; a connection that is reset is the network's fault."""
_HINTS: Final[Mapping[Fault, str]] = {
    Fault.UNTRUSTED: "name your authority's certificates by --registry-ca",
    Fault.PLAIN: "a registry without encryption is named by --registry-plain-http",
}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class Question:
    """headers: sent to the first host alone, but for Accept; form: what is posted, None for a GET;
    limit: bytes that an answer may have; size: bytes that it must have, None where nobody knows;
    via: the URL of another host whose answer names this one, empty for none.
    """

    url: str
    headers: Mapping[str, str]
    limit: int
    form: Mapping[str, str] | None = None
    size: int | None = None
    via: str = ""


class Transport:
    """Asks registries; holds open connections."""

    def __init__(self, settings: Settings) -> None:
        self._limits: Limits = settings.limits
        trust = partial(system_trust, settings.authorities)
        self._transport = transport.Transport(settings.limits, encrypted, trust)

    def ask(self, question: Question) -> Answer:
        """Return the answer, whatever its status is; raises RegistryError where there is none."""
        try:
            answer = self._transport.ask(_request(question), question.limit, question.size)
        except NetworkError as error:
            raise self._failed(error, question) from None
        if question.form is not None and answer.is_redirect:
            what = f"POST {shown_url(question.url)}"
            raise RegistryError(f"{what}: redirects, which is not followed")
        return answer

    def _failed(self, error: NetworkError, question: Question) -> RegistryError:
        text = f"GET {shown_url(question.url)}: {_words(error, question, self._limits)}"
        if error.is_passing:
            text += f", in {error.attempts} attempts"
        unanswered = error.fault not in _ANSWERED
        return RegistryError(text, _HINTS.get(error.fault), unanswered)


def _request(question: Question) -> Request:
    if question.form is None:
        return Request(question.url, question.headers, via=question.via)
    body = urlencode(question.form).encode("ascii")
    return Request(
        question.url, {**question.headers, **_FORM}, "POST", body, question.via, follows=False
    )


def _words(error: NetworkError, question: Question, limits: Limits) -> str:
    words = {
        Fault.UNSENDABLE: "cannot be asked for",
        Fault.DOWNGRADE: "redirects to http",
        Fault.UNTRUSTED: f"the certificate is not trusted: {error.detail}",
        Fault.TOO_LARGE: f"the answer is larger than {question.limit:,} bytes",
        Fault.SIZE: f"Content-Length header {error.detail} does not match expected size "
        f"{question.size}",
    }
    return words.get(error.fault) or error.words(limits)
