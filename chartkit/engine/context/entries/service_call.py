"""A call of a service by a ClusterPolicy or a GlobalContextEntry, as Kyverno makes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.ports.services import (
    MOST_BYTES,
    BadUrlError,
    Ending,
    ServiceAnswer,
    ServiceCall,
    ServiceSource,
    posted,
    printed,
    said,
)
from chartkit.errors import EvaluationError, LookupFailed, NoSource
from chartkit.go.json_decoder import parse_json
from chartkit.go.x509.certificates import holds_certificate
from chartkit.model import Body, Json

UNMADE: Final = "failed to execute HTTP request for APICall"
_METHODS: Final = ("GET", "POST")


@dataclass(frozen=True, slots=True)
class Reply:
    """The body of an answer that was a success. size: in bytes; said: what messages show of it."""

    text: str
    size: int
    said: str

    def value(self) -> Json:
        """The body, decoded; raises JsonError."""
        return parse_json(self.text)


def call_service(name: str, body: Body, services: ServiceSource, tries: int = 1) -> Reply:
    """Makes the call of an `apiCall` whose variables are resolved; name: what messages call it;
    tries: how often, where it fails.

    Raises EvaluationError in Kyverno's words, and NoSource where no service is called.
    """
    call = replace(_built(name, body), tries=tries)
    try:
        answer = services.ask(call)
    except NoSource:
        raise
    except BadUrlError as error:
        raise EvaluationError(
            f"failed to build HTTP request for APICall {name}: "
            f"failed to build request for APICall {name}: {error.message}"
        ) from error
    except LookupFailed as error:
        raise EvaluationError(f"{UNMADE} {name}: {error}") from error
    return _read(name, answer, call)


def request_data(data: Json) -> Body:
    """The pairs of `data` as one object."""
    if not isinstance(data, list):
        return {}
    return {str(item.get("key")): item.get("value") for item in data if isinstance(item, dict)}


def _built(name: str, body: Body) -> ServiceCall:
    method, service = body.get("method") or "GET", body.get("service")
    if service is None:
        raise EvaluationError(f"missing service for APICall {name}")
    authorities = service.get("caBundle") or ""
    if authorities and not holds_certificate(authorities):
        raise EvaluationError(f"failed to parse PEM CA bundle for APICall {name}")
    if method not in _METHODS:
        raise EvaluationError(
            f"failed to build HTTP request for APICall {name}: "
            f"invalid request type {method} for APICall {name}"
        )
    return ServiceCall(
        method,
        service.get("url") or "",
        _headers(service.get("headers")),
        posted(request_data(body.get("data"))) if method == "POST" else None,
        authorities,
    )


def _headers(headers: Json) -> tuple[tuple[str, str], ...]:
    if not isinstance(headers, list):
        return ()
    return tuple(
        (str(item.get("key")), str(item.get("value", "")))
        for item in headers
        if isinstance(item, dict)
    )


def _read(name: str, answer: ServiceAnswer, call: ServiceCall) -> Reply:
    shown = said(answer, call)
    if not 200 <= answer.status < 300:
        status = f"HTTP {answer.status} {printed(answer.reason, call)}".rstrip()
        raise EvaluationError(f"{status}: {shown}" if answer.ending is Ending.WHOLE else status)
    if answer.ending is Ending.TOO_LARGE:
        raise EvaluationError(
            f"response length must be less than max allowed response length of {MOST_BYTES}"
        )
    if answer.ending is Ending.CUT:
        raise EvaluationError(f"failed to read data from APICall {name}: unexpected EOF")
    return Reply(answer.body.decode("utf-8", "replace"), len(answer.body), shown)
