"""Calls of services that policies make, as a port that callers fill.

Requests and answers are here as they go over the wire. ClusterPolicies
(`context.entries.service_call`) and expressions (`cel.cluster_host`) make of an
answer the same as Kyverno.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from chartkit.errors import LookupFailed, NoSource
from chartkit.go.fmt import go_json
from chartkit.model import Json
from chartkit.wording import shortened

MOST_BYTES: Final = 10_000_000
"""The longest answer, as Kyverno's admission controller has it (`maxAPICallResponseLength`)."""
_MOST_SAID: Final = 300
_SHORTEST_SECRET: Final = 4
_OPEN_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-type", "host", "user-agent"}
)
_CREDENTIAL: Final = re.compile("auth|cred|key|pass|secret|sig|token", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """method: GET or POST; headers: names and values, in order; body: what is posted;
    authorities: certificates (PEM) that are trusted in the place of the system's, empty for
    those; tries: how often it is made, at most, where it fails."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    authorities: str = ""
    tries: int = 1


class Ending(Enum):
    """The end of an answer's body: as announced, earlier, or beyond `MOST_BYTES`."""

    WHOLE = "whole"
    CUT = "cut"
    TOO_LARGE = "too large"


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """Any answer, whatever its status; reason: the reason phrase; body: as far as it was read."""

    status: int
    reason: str
    body: bytes
    ending: Ending = Ending.WHOLE

    @property
    def is_success(self) -> bool:
        """Return whether Kyverno takes it for one."""
        return 200 <= self.status < 300 and self.ending is Ending.WHOLE


class BadUrlError(LookupFailed):
    """The URL of a policy is not a URL."""


class NotAllowedError(NoSource):
    """A call that the user did not allow, or that is never made: nothing replaces its
    answer."""


class ServiceSource(Protocol):
    """The port that makes the calls."""

    def ask(self, _call: ServiceCall, /) -> ServiceAnswer:
        """The answer; raises BadUrlError, NotAllowedError, and LookupFailed where there is none,
        with a message that holds no header."""
        raise NoSource("no network to ask", hint="--allow-network names hosts that may be asked")


def posted(data: Json) -> bytes:
    """Data as Kyverno posts it: JSON and the end of a line."""
    return f"{go_json(data)}\n".encode("utf-8", "replace")


def said(answer: ServiceAnswer, call: ServiceCall) -> str:
    """The beginning of a body as a message may show it: on one line, without what was sent to be
    let in."""
    return printed(answer.body[: _MOST_SAID * 8].decode("utf-8", "replace"), call)


def printed(text: str, call: ServiceCall) -> str:
    """A foreign text as a message may show it (see `said`)."""
    text = "".join(each if each.isprintable() else " " for each in masked(text, call)).strip()
    return shortened(text, _MOST_SAID)


def masked(text: str, call: ServiceCall) -> str:
    """A text without what was sent to be let in, even where the other side repeats it."""
    for secret in sorted(set(_secrets(call)), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _secrets(call: ServiceCall) -> Iterator[str]:
    try:
        parts = urlsplit(call.url)
    except ValueError:
        return
    given = [value for name, value in call.headers if name.lower() not in _OPEN_HEADERS]
    given += [value for name, value in parse_qsl(parts.query) if _CREDENTIAL.search(name)]
    user = parts.netloc.rpartition("@")[0]
    given += [*user.split(":"), b64encode(unquote(user).encode("utf-8", "replace")).decode("ascii")]
    for value in given:
        for secret in (value, *value.split()):
            if len(secret) >= _SHORTEST_SECRET:
                yield secret
