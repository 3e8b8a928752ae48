"""How a registry wants to know who asks: its `WWW-Authenticate` header, and the tokens for it
(https://distribution.github.io/distribution/spec/auth/token/)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

from chartkit.registry.credentials import Credentials
from chartkit.registry.errors import RegistryError
from chartkit.registry.transport import Question, Transport, shown

_SCHEME: Final = re.compile(r"(?:\A|,)\s*(?P<scheme>bearer|basic)(?=\s|\Z)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_CLIENT: Final = "chartkit"
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class Challenge:
    """One that is understood. is_bearer: whether a token is wanted rather than a password."""

    is_bearer: bool
    parameters: Mapping[str, str]


def read_challenge(header: str) -> Challenge | None:
    """The challenge to answer, a bearer's before a password's; None where none is understood."""
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


def fetch_token(
    transport: Transport,
    challenge: Challenge,
    scope: str,
    who: Credentials | None,
    limit: int,
    plain_host: str,
) -> str:
    """A token for a scope, for nobody in particular where who is None; raises RegistryError.

    plain_host: the registry's own host where it is asked without encryption; no other realm is.
    """
    realm = challenge.parameters.get("realm", "")
    _check_realm(realm, plain_host)
    service = challenge.parameters.get("service", "")
    wanted = {"service": service} if service else {}
    wanted["scope"] = scope
    if who is not None and who.identity:
        form = {
            **wanted,
            "grant_type": "refresh_token",
            "client_id": _CLIENT,
            "refresh_token": who.identity,
        }
        question = Question(realm, {"Accept": "application/json"}, limit, form)
    else:
        joint = "&" if urlsplit(realm).query else "?"
        headers = {"Accept": "application/json"}
        if who is not None:
            headers["Authorization"] = who.basic
        question = Question(f"{realm}{joint}{urlencode(wanted)}", headers, limit)
    answer = transport.ask(question)
    if answer.status != _OK:
        raise RegistryError(f"the token service {shown(realm)} answers {answer.status}")
    return _token(answer.body, realm)


def _token(content: bytes, realm: str) -> str:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        for key in ("token", "access_token"):
            value = body.get(key)
            if isinstance(value, str) and value and value.isascii() and value.isprintable():
                return value
    raise RegistryError(f"the token service {shown(realm)} gives no token")


def _check_realm(realm: str, plain_host: str) -> None:
    """A password is sent there: encrypted, or to the host that is trusted without."""
    try:
        parts = urlsplit(realm)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise RegistryError("the registry names no token service")
    if parts.username or parts.password:
        raise RegistryError("the registry names a token service with a password")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.netloc == plain_host):
        raise RegistryError(f"the token service {shown(realm)} is not encrypted")
