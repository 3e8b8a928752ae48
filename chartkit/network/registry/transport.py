"""Requests to registries, with failures in the words of the tools that ask registries; challenges
(the `WWW-Authenticate` header), and the tokens for them
(https://distribution.github.io/distribution/spec/auth/token/)."""

from __future__ import annotations

import http
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit

from chartkit.go.fmt import go_sprint
from chartkit.network.http import transport
from chartkit.network.http.connections import encrypted, system_trust
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.limits import Limits
from chartkit.network.http.transport import Request, Response
from chartkit.network.http.urls import is_forbidden_host, is_inside, literal, shown_url
from chartkit.network.registry.credentials import Login
from chartkit.network.registry.settings import RegistryError, Settings
from chartkit.wording import shortened

_ANSWERED: Final = frozenset({Fault.CUT, Fault.SIZE})
"""Faults that Go takes for the end of a response; a reset connection is a fault of the network."""
_HINTS: Final[Mapping[Fault, str]] = {
    Fault.UNTRUSTED: "name your authority's certificates by --registry-ca",
    Fault.PLAIN: "a registry without encryption is named by --registry-plain-http",
}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_LONGEST: Final = 400
"""Characters of a diagnosis that are shown."""
_SCHEME: Final = re.compile(r"(?:\A|,)\s*(?P<scheme>bearer|basic)(?=\s|\Z)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_INVALID: Final = "invalid realm in www-authenticate: "
_CLIENT: Final = "chartkit"
_HEADERS: Final = {"Accept": "application/json"}


class Transport:
    """Sends requests to registries; holds open connections."""

    def __init__(self, settings: Settings) -> None:
        self._limits: Limits = settings.limits
        trust = partial(system_trust, settings.authorities)
        self._transport = transport.Transport(settings.limits, encrypted, trust)

    def ask(self, request: Request) -> Response:
        """Return the response, of any status; raises RegistryError without one."""
        try:
            response = self._transport.ask(request)
        except NetworkError as error:
            words = {
                Fault.UNSENDABLE: "cannot be requested",
                Fault.DOWNGRADE: "redirects to http",
                Fault.UNTRUSTED: f"the certificate is not trusted: {error.detail}",
                Fault.TOO_LARGE: f"the answer is larger than {request.most:,} bytes",
                Fault.SIZE: f"Content-Length header {error.detail} does not match expected size "
                f"{request.size}",
            }
            reason_text = words.get(error.fault) or error.words(self._limits)
            text = f"GET {shown_url(request.url)}: {reason_text}"
            if error.is_passing:
                text += f", in {error.attempts} attempts"
            is_reset = type(error.cause) is ConnectionResetError
            unanswered = is_reset or error.fault not in _ANSWERED
            raise RegistryError(text, _HINTS.get(error.fault), unanswered) from None
        if not request.follows and response.is_redirect:
            what = f"{request.method} {shown_url(request.url)}"
            raise RegistryError(f"{what}: redirects, which is not followed")
        return response


def diagnosis(answer: Response) -> str:
    """Return the diagnostics of a response, or its status and body where it has none."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    errors = body.get("errors") if isinstance(body, dict) else None
    if isinstance(errors, list) and errors:
        texts: list[str] = []
        for error in errors[:5]:
            if isinstance(error, dict):
                text = f"{error.get('code', '')}: {error.get('message', '')}"
                detail = error.get("detail")
                texts.append(text if detail is None else f"{text}; {go_sprint(detail)}")
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


def printable(text: str) -> str:
    """Return a text in one line, cut and without control characters."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "�" for letter in line)
    return shortened(line, _LONGEST)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One that is understood. is_bearer: whether a token is wanted rather than a password."""

    is_bearer: bool
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository; plain: unencrypted; private: for the user (True) or a policy alone."""

    host: str
    repository: str
    plain: bool
    private: bool = True

    @property
    def base(self) -> str:
        """The beginning of every URL of the registry."""
        return f"http{'' if self.plain else 's'}://{self.host}/v2"


def read_challenge(header: str) -> Challenge | None:
    """The challenge to answer, a bearer's before a password's; None where none is understood."""
    text = header[:8192]
    matches = list(_SCHEME.finditer(text))
    challenges = []
    for index, match in enumerate(matches):
        end = matches[index + 1].start() if index + 1 < len(matches) else len(text)
        parameters = {
            name.lower(): quoted or bare
            for name, quoted, bare in _PARAMETER.findall(text[match.end() : end])
        }
        challenges.append(Challenge(match["scheme"].lower() == "bearer", parameters))
    return min(challenges, key=lambda challenge: not challenge.is_bearer, default=None)


def fetch_token(
    transport: Transport, challenge: Challenge, wanted: Repository, who: Login | None, limit: int
) -> str:
    """Return a token that lets pull, an anonymous one where `who` is None; raises RegistryError.
    limit: bytes that the response may have."""
    realm = challenge.parameters.get("realm", "")
    if not realm:
        given = sorted(challenge.parameters.items())
        named = " ".join(f"{key}:{value}" for key, value in given)
        raise RegistryError(printable(f"malformed www-authenticate, missing realm: map[{named}]"))
    # Require a realm that a password may be sent to: encrypted, or the host that is trusted
    # without.
    try:
        parts = urlsplit(realm)
        host = parts.hostname or ""
    except ValueError:
        raise RegistryError(f"{_INVALID}it is not a URL") from None
    if parts.scheme not in ("http", "https"):
        raise RegistryError(
            f'{_INVALID}realm scheme "{printable(parts.scheme)}" not allowed; must be https (or '
            "http for insecure registries)"
        )
    if not host or parts.username or parts.password:
        raise RegistryError(f"{_INVALID}it must name a host and no user")
    own = parts.netloc == wanted.host
    if parts.scheme == "http" and not (wanted.plain and own):
        message = f'{_INVALID}realm scheme "http" not allowed for a secure registry; use https'
        raise RegistryError(message)
    address = literal(host)
    inside = address is not None and is_inside(address)
    if not own and (inside or is_forbidden_host(host)):
        raise RegistryError(f'{_INVALID}realm host "{host}" is a private or link-local address')
    service = challenge.parameters.get("service", "")
    parameters = {"scope": f"repository:{wanted.repository}:pull"}
    parameters |= {"service": service} if service else {}
    via = "" if own else wanted.base.removesuffix("v2")
    if who is not None and who.identity:
        form = {
            **parameters,
            "grant_type": "refresh_token",
            "client_id": _CLIENT,
            "refresh_token": who.identity,
        }
        body = urlencode(form).encode("ascii")
        headers = {**_HEADERS, **_FORM}
        post = Request(realm, limit, headers, "POST", body, via, follows=False)
        response = transport.ask(post)
        # A token service without this endpoint may still take a name and a password.
        if response.status != HTTPStatus.NOT_FOUND:
            return _token(response, f"POST {shown_url(realm)}")
    query = urlencode(parameters)
    joint = "&" if urlsplit(realm).query else "?"
    headers = dict(_HEADERS)
    if who is not None and who.authorization is not None:
        headers["Authorization"] = who.authorization
    response = transport.ask(Request(f"{realm}{joint}{query}", limit, headers, via=via))
    return _token(response, f"GET {shown_url(realm)}?{printable(query)}")


def _token(response: Response, what: str) -> str:
    if response.status != HTTPStatus.OK:
        raise RegistryError(f"{what}: {diagnosis(response)}")
    try:
        body = json.loads(response.body)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        for key in ("access_token", "token"):
            value = body.get(key)
            if isinstance(value, str) and value and value.isascii() and value.isprintable():
                return value
    raise RegistryError("no token in bearer response")
