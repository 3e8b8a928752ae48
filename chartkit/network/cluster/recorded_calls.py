"""Calls of services in a recording: kept while a cluster is scanned, answered in their place.

Neither headers nor what was posted is kept, nor a URL's query: a call is known again by digests,
salted for each recording. What was sent to be let in is gone from answers, too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from chartkit.engine.ports import (
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
    ServiceSource,
    masked,
)
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.cluster.recording import RecordedSource, Recorder
from chartkit.network.cluster.source import Source
from chartkit.network.services import shown

_FAILURES: Final[Mapping[str, type[LookupFailed]]] = {
    "failed": LookupFailed,
    "bad URL": BadUrlError,
    "not allowed": NotAllowedError,
}


def services_of(source: Source, given: ServiceSource | None) -> ServiceSource | None:
    """Return what calls services in a scan of a cluster; given: what does so without a
    recording."""
    if isinstance(source, Recorder) and given is not None:
        return RecordingServices(source, given)
    if isinstance(source, RecordedSource) and source.has_calls:
        return RecordedServices(source, given)
    return given


class RecordingServices:
    """Calls services, and keeps what came of each call."""

    def __init__(self, recorder: Recorder, services: ServiceSource) -> None:
        self._recorder = recorder
        self._services = services

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        try:
            answer = self._services.ask(call)
        except LookupFailed as error:
            kinds = (key for key, made in _FAILURES.items() if type(error) is made)
            kind = next(kinds, "failed")
            self._keep(call, {"failed": kind, "said": error.message, "hint": error.hint})
            raise
        written = {"status": answer.status, "reason": answer.reason, "ending": answer.ending.value}
        self._keep(call, {**written, **_written(answer.body, call)})
        return answer

    def _keep(self, call: ServiceCall, entry: Body) -> None:
        key, sent = _digests(call, self._recorder.salt)
        asked = f"{call.method} {shown(call.url)}"
        self._recorder.keep_call(key, sent, {"call": asked, **entry})


class RecordedServices:
    """Recorded answers of services; for others, the services themselves where the user allows
    it."""

    def __init__(self, source: RecordedSource, beside: ServiceSource | None) -> None:
        self._source = source
        self._beside = beside

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        entry = self._entry(call)
        if entry is None:
            if self._beside is not None:
                return self._beside.ask(call)
            raise NotAllowedError(f"{call.method} {shown(call.url)} was not recorded")
        return _read(entry)

    def _entry(self, call: ServiceCall) -> Body | None:
        """Return the same call; with other headers, which may come of a Secret, if there is but
        one.

        Older recordings do not know how often a call is made.
        """
        for each in (call, replace(call, tries=1)):
            key, sent = _digests(each, self._source.salt)
            found = self._source.calls(key)
            if sent in found or len(found) == 1:
                return self._source.entry(found.get(sent) or next(iter(found.values())))
        return None


def _digests(call: ServiceCall, salt: str) -> tuple[str, str]:
    body = base64.b64encode(call.body or b"").decode("ascii")
    tries = [call.tries] if call.tries > 1 else []
    return (
        _digest([salt, call.method, call.url, body, *tries]),
        _digest([salt, call.headers, call.authorities]),
    )


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _written(body: bytes, call: ServiceCall) -> Body:
    try:
        return {"text": masked(body.decode("utf-8"), call)}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(body).decode("ascii")}


def _read(entry: Body) -> ServiceAnswer:
    if "failed" in entry:
        made = _FAILURES.get(str(entry["failed"]), LookupFailed)
        hint = entry.get("hint")
        raise made(str(entry.get("said")), hint=hint if isinstance(hint, str) else None)
    try:
        text = entry.get("text")
        body = text.encode("utf-8") if isinstance(text, str) else _octets(entry.get("bytes"))
        ending = Ending(entry.get("ending"))
        return ServiceAnswer(int(entry["status"]), str(entry.get("reason") or ""), body, ending)
    except (ValueError, KeyError, TypeError):
        raise LookupFailed("the recorded answer cannot be read", hint="record it again") from None


def _octets(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
