"""Answers of an API server in a folder: written while a cluster is scanned, read in its place.

One file an answer, and an index of them by what was asked. Of Secrets the data is left out, but for
the public keys (`cosign.pub`) of those that policies name as signers.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import is_file, read_bytes
from chartkit.documents.json_text import parse_json
from chartkit.engine.ports.services import (
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
    masked,
)
from chartkit.engine.ports.world import ServiceSource
from chartkit.errors import InputError, LookupFailed
from chartkit.model import Body, Json, Location, text_of
from chartkit.network.cluster.cleaning import cleaned_answer, with_public_key, without_secrets
from chartkit.network.cluster.source import RefusedError, Source, SourceError
from chartkit.network.services import shown
from chartkit.output import atomic_folder

INDEX: Final = "recording.json"
_FORMAT: Final = 1
_FILE: Final = re.compile(r"[0-9]{6,9}\.json")
_PRIVATE: Final = 0o700
_FAILURES: Final[Mapping[str, type[LookupFailed]]] = {
    "failed": LookupFailed,
    "bad URL": BadUrlError,
    "not allowed": NotAllowedError,
}


def is_recording(path: Path) -> bool:
    """Report whether a folder is a recording of a cluster."""
    return is_file(path / INDEX)


@dataclass
class Recorder:
    """A source that keeps every answer of another in a folder."""

    source: Source
    folder: Path
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    _files: dict[str, str] = field(default_factory=dict)
    _calls: dict[str, dict[str, str]] = field(default_factory=dict)
    _public: set[str] = field(default_factory=set)
    _count: int = 0

    @property
    def fault(self) -> SourceError | None:
        """The fault of the source."""
        return self.source.fault

    def get(self, path: str, /) -> Body:
        try:
            answer = self.source.get(path)
        except RefusedError as error:
            self._keep(path, {"status": error.status, "said": error.message})
            raise
        keep = with_public_key if path in self._public else without_secrets
        self._keep(path, {"body": keep(cleaned_answer(answer))})
        return answer

    def keep_public_key(self, path: str) -> None:
        """Keep `cosign.pub` of the Secret at a path in the answers that follow."""
        self._public.add(path)

    def close(self, namespace: str) -> None:
        """Write the index; namespace: the scan's limit, empty for all."""
        index = {"format": _FORMAT, "namespace": namespace, "answers": self._files}
        if self._calls:
            index |= {"calls": self._calls, "salt": self.salt}
        _write(self.folder / INDEX, index)

    def keep_call(self, key: str, sent: str, entry: Body) -> None:
        """Keep the answer to a service's call; key: its digest; sent: the digest of its headers."""
        if sent not in self._calls.setdefault(key, {}):
            self._calls[key][sent] = self._next_file()
            _write(self.folder / self._calls[key][sent], entry)

    def _keep(self, path: str, entry: Body) -> None:
        name = self._files.get(path) or self._files.setdefault(path, self._next_file())
        _write(self.folder / name, {"path": path, **entry})

    def _next_file(self) -> str:
        self._count += 1
        return f"{self._count:06}.json"


@contextlib.contextmanager
def recorder(source: Source, target: Path, namespace: str) -> Iterator[Recorder]:
    """Record into a folder that appears complete at the end, or not at all. Raises InputError where
    it cannot be written, or exists."""
    if target.exists() and not is_recording(target):
        empty = target.is_dir() and not any(target.iterdir())
        if not empty:
            hint = "name a folder that is not there yet, or another recording"
            raise InputError("exists and is not a recording", Location(str(target)), hint)
    target = target.resolve()
    with _explained(target):
        atomic_folder.repair(target)
        new = atomic_folder.new_folder(target)
    try:
        new.chmod(_PRIVATE)
        writer = Recorder(source, new)
        yield writer
        writer.close(namespace)
        with _explained(target):
            atomic_folder.replace_folder(new, target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


class RecordedSource:
    """A recording in the place of a cluster."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError for a folder that is not a recording, or one of another format."""
        self.fault: SourceError | None = None
        self._folder = folder
        index = _read_body(folder / INDEX)
        if index.get("format") != _FORMAT:
            hint = "record it again"
            raise InputError("is a recording of another format", Location(str(folder)), hint)
        answers = index.get("answers")
        self._files: Mapping[str, Json] = answers if isinstance(answers, dict) else {}
        calls = index.get("calls")
        self._calls: Mapping[str, Json] = calls if isinstance(calls, dict) else {}
        self.salt = str(index.get("salt") or "")
        namespace = index.get("namespace")
        self.namespace = text_of(namespace)

    @property
    def has_calls(self) -> bool:
        """Report whether calls of services were recorded."""
        return bool(self._calls)

    def calls(self, key: str) -> Mapping[str, Json]:
        """The files with what came of a service's call, by what was sent (see `Recorder`)."""
        files = self._calls.get(key)
        return files if isinstance(files, dict) else {}

    def get(self, path: str, /) -> Body:
        name = self._files.get(path)
        if name is None:
            raise RefusedError(0, "was not recorded")
        entry = self.entry(name)
        body, status = entry.get("body"), entry.get("status")
        if isinstance(body, dict):
            return body
        if not isinstance(status, int):
            raise self._broken(Location(str(self._folder / name)), "is not a recorded answer")
        raise RefusedError(status, str(entry.get("said") or ""))

    def entry(self, name: Json) -> Body:
        """Return the content of a file; raises SourceError."""
        if not isinstance(name, str) or not _FILE.fullmatch(name):
            raise self._broken(
                Location(str(self._folder / INDEX)), "does not name a file of a recording"
            )
        try:
            return _read_body(self._folder / name)
        except InputError as error:
            raise self._broken(error.location, error.message) from None

    def _broken(self, location: Location | None, text: str) -> SourceError:
        self.fault = SourceError(text, location, "record it again")
        return self.fault


def _read_body(file: Path) -> Body:
    try:
        body = parse_json(read_bytes(file))
    except ValueError:
        raise InputError("is not JSON", Location(str(file))) from None
    if not isinstance(body, dict):
        raise InputError("must be a JSON object", Location(str(file)))
    return body


def _write(file: Path, body: Body) -> None:
    with _explained(file):
        file.write_text(json.dumps(body) + "\n", "utf-8", newline="\n")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cannot be written: {error.strerror or 'an error'}"
        raise InputError(text, Location(str(path))) from None


def services_of(source: Source, given: ServiceSource | None) -> ServiceSource | None:
    """The caller of services in a scan of a cluster; given: the caller without a recording."""
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
        try:
            written_text: Body = {"text": masked(answer.body.decode("utf-8"), call)}
        except UnicodeDecodeError:
            written_text = {"bytes": base64.b64encode(answer.body).decode("ascii")}
        self._keep(call, {**written, **written_text})
        return answer

    def _keep(self, call: ServiceCall, entry: Body) -> None:
        key, sent = _digests(call, self._recorder.salt)
        asked = f"{call.method} {shown(call.url)}"
        self._recorder.keep_call(key, sent, {"call": asked, **entry})


class RecordedServices:
    """Recorded answers of services; for others, the services themselves where that is allowed."""

    def __init__(self, source: RecordedSource, beside: ServiceSource | None) -> None:
        self._source = source
        self._beside = beside

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        entry = self._entry(call)
        if entry is None:
            if self._beside is not None:
                return self._beside.ask(call)
            raise NotAllowedError(f"{call.method} {shown(call.url)} was not recorded")
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
            message = "the recorded answer cannot be read"
            raise LookupFailed(message, hint="record it again") from None

    def _entry(self, call: ServiceCall) -> Body | None:
        """Return the recorded answer to a call; if only one was recorded, also with other headers,
        which may come from a Secret. Older recordings do not know how often a call is made."""
        for service_call in (call, replace(call, tries=1)):
            key, sent = _digests(service_call, self._source.salt)
            files = self._source.calls(key)
            if sent in files or len(files) == 1:
                return self._source.entry(files.get(sent) or next(iter(files.values())))
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


def _octets(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
