"""Challenges of registries: the `WWW-Authenticate` header, and the tokens for it
(https://distribution.github.io/distribution/spec/auth/token/)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit

from chartkit.network.http.addresses import is_forbidden_host, is_inside, literal
from chartkit.network.http.transport import Request, Response
from chartkit.network.http.urls import shown_url
from chartkit.network.registry.credentials import Login
from chartkit.network.registry.errors import RegistryError
from chartkit.network.registry.transport import Transport, diagnosis, form_request, printable

_SCHEME: Final = re.compile(r"(?:\A|,)\s*(?P<scheme>bearer|basic)(?=\s|\Z)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_INVALID: Final = "invalid realm in www-authenticate: "
_CLIENT: Final = "chartkit"
_HEADERS: Final = {"Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Challenge:
    """One that is understood. is_bearer: whether a token is wanted rather than a password."""

    is_bearer: bool
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token. scope: what it is for; registry: the host that asks for it; plain: whether that is
    asked without encryption, as no other host is."""

    challenge: Challenge
    scope: str
    registry: str
    plain: bool


def read_challenge(header: str) -> Challenge | None:
    """Return the challenge to answer, a bearer's before a password's; None where none is
    understood."""
    text = header[:8192]
    found = list(_SCHEME.finditer(text))
    challenges = []
    for index, match in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(text)
        parameters = {
            name.lower(): quoted or bare
            for name, quoted, bare in _PARAMETER.findall(text[match.end() : end])
        }
        challenges.append(Challenge(match["scheme"].lower() == "bearer", parameters))
    return min(challenges, key=lambda one: not one.is_bearer, default=None)


def fetch_token(transport: Transport, wanted: TokenRequest, who: Login | None, limit: int) -> str:
    """Return a token, an anonymous one where `who` is None; raises RegistryError.

    limit: bytes that the response may have.
    """
    realm = wanted.challenge.parameters.get("realm", "")
    if not realm:
        known = sorted(wanted.challenge.parameters.items())
        named = " ".join(f"{key}:{value}" for key, value in known)
        raise RegistryError(printable(f"malformed www-authenticate, missing realm: map[{named}]"))
    _check_realm(realm, wanted)
    service = wanted.challenge.parameters.get("service", "")
    parameters = {"scope": wanted.scope, **({"service": service} if service else {})}
    via = _via(realm, wanted)
    if who is not None and who.identity:
        form = {
            **parameters,
            "grant_type": "refresh_token",
            "client_id": _CLIENT,
            "refresh_token": who.identity,
        }
        response = transport.ask(form_request(realm, form, _HEADERS, limit, via))
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


def _via(realm: str, wanted: TokenRequest) -> str:
    """Return the registry's URL where the token service is on another host."""
    own = urlsplit(realm).netloc == wanted.registry
    return "" if own else f"http{'' if wanted.plain else 's'}://{wanted.registry}/"


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


def _check_realm(realm: str, wanted: TokenRequest) -> None:
    """Require a realm that a password may be sent to: encrypted, or the host that is trusted
    without."""
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
    own = parts.netloc == wanted.registry
    if parts.scheme == "http" and not (wanted.plain and own):
        raise RegistryError(
            f'{_INVALID}realm scheme "http" not allowed for a secure registry; use https'
        )
    address = literal(host)
    inside = address is not None and is_inside(address)
    if not own and (inside or is_forbidden_host(host)):
        raise RegistryError(f'{_INVALID}realm host "{host}" is a private or link-local address')
