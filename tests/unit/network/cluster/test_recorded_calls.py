"""Calls of services in a recording, one by one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.engine.ports.services import (
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
)
from chartkit.engine.ports.world import ServiceSource
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.cluster.recording import INDEX, RecordedSource, recorder, services_of
from chartkit.network.cluster.source import SourceError

GET = ServiceCall("GET", "http://me:secret@prices/eu?token=secret", (("Key", "secret"),))
POST = ServiceCall("POST", "http://checks/", (), b'{"word": "posted"}')


class _Cluster:
    """A server that nobody asks."""

    fault = None

    def get(self, path: str, /) -> Body:
        raise AssertionError(path)


class _Services:
    """Answers from a table, or raises what stands there."""

    def __init__(self, answers: dict[ServiceCall, ServiceAnswer | LookupFailed]) -> None:
        self._answers = answers

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        answer = self._answers[call]
        if isinstance(answer, LookupFailed):
            raise answer
        return answer


def _record(folder: Path, answers: dict[ServiceCall, ServiceAnswer | LookupFailed]) -> None:
    with recorder(_Cluster(), folder, "") as writer:
        services = services_of(writer, _Services(answers))
        assert services is not None
        for call in (*answers, *answers):
            try:
                services.ask(call)
            except LookupFailed:
                continue


def _recorded(folder: Path, beside: ServiceSource | None = None) -> ServiceSource:
    services = services_of(RecordedSource(folder), beside)
    assert services is not None
    return services


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rec"


@pytest.mark.parametrize(
    "answer",
    [
        ServiceAnswer(200, "OK", b'{"a": "\xc3\xa9"}'),
        ServiceAnswer(503, "", b"\xff\x00", Ending.CUT),
        ServiceAnswer(200, "OK", b"", Ending.TOO_LARGE),
    ],
)
def test_answers_come_again(folder: Path, answer: ServiceAnswer) -> None:
    _record(folder, {POST: answer})
    assert _recorded(folder).ask(POST) == answer
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "error",
    [
        LookupFailed("nobody there"),
        BadUrlError("no URL"),
        NotAllowedError("not named", hint="name it"),
    ],
)
def test_errors_come_again(folder: Path, error: LookupFailed) -> None:
    _record(folder, {GET: error})
    with pytest.raises(LookupFailed) as raised:
        _recorded(folder).ask(GET)
    assert type(raised.value) is type(error)
    assert str(raised.value) == str(error)


def test_calls_that_are_made_again_are_others(folder: Path) -> None:
    one, other = ServiceAnswer(500, "", b""), ServiceAnswer(200, "OK", b"1")
    again = replace(GET, tries=3)
    _record(folder, {GET: one, again: other})
    recorded = _recorded(folder)
    assert recorded.ask(GET) == one
    assert recorded.ask(again) == other


def test_recordings_that_do_not_know_how_often_a_call_is_made(folder: Path) -> None:
    one = ServiceAnswer(200, "OK", b"1")
    _record(folder, {GET: one})
    assert _recorded(folder).ask(replace(GET, tries=3)) == one


def test_what_is_not_kept(folder: Path) -> None:
    _record(folder, {GET: ServiceAnswer(200, "OK", b"you said secret"), POST: LookupFailed("x")})
    text = "".join(file.read_text() for file in folder.iterdir())
    assert "secret" not in text
    assert "posted" not in text
    assert _recorded(folder).ask(GET).body == b"you said ***"


def test_other_headers(folder: Path) -> None:
    """They may come of a Secret, of which nothing is kept; several cannot be told apart then."""
    one, other, third = (replace(GET, headers=(("Key", key),)) for key in ("", "a", "b"))
    answers = {one: ServiceAnswer(200, "", b"1"), other: ServiceAnswer(200, "", b"2")}
    _record(folder, {one: answers[one]})
    assert _recorded(folder).ask(third).body == b"1"
    _record(folder, {**answers})
    assert [_recorded(folder).ask(call).body for call in answers] == [b"1", b"2"]
    with pytest.raises(NotAllowedError, match='GET "http://prices/eu" was not recorded'):
        _recorded(folder).ask(third)


def test_what_was_not_recorded_is_asked_where_that_is_allowed(folder: Path) -> None:
    _record(folder, {GET: ServiceAnswer(200, "", b"1")})
    answer = ServiceAnswer(200, "", b"2")
    assert _recorded(folder, _Services({POST: answer})).ask(POST) == answer
    with pytest.raises(NotAllowedError, match='POST "http://checks/" was not recorded'):
        _recorded(folder).ask(replace(POST, body=b"{}"))


def test_a_recording_without_calls(folder: Path) -> None:
    _record(folder, {})
    assert services_of(RecordedSource(folder), None) is None
    assert "salt" not in json.loads((folder / INDEX).read_text())


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"status": "x", "ending": "whole", "text": ""},
        {"status": 200, "ending": "other", "text": ""},
        {"status": 200, "ending": "whole", "bytes": "?"},
        {"status": None, "ending": "whole", "text": ""},
    ],
)
def test_entries_that_are_broken(folder: Path, entry: Body) -> None:
    _record(folder, {GET: ServiceAnswer(200, "", b"1")})
    (folder / "000001.json").write_text(json.dumps(entry))
    with pytest.raises(LookupFailed, match=r"the recorded answer cannot be read \(record it"):
        _recorded(folder).ask(GET)


def test_an_index_that_leads_elsewhere(folder: Path) -> None:
    _record(folder, {GET: ServiceAnswer(200, "", b"1")})
    index = (folder / INDEX).read_text().replace("000001.json", "../../etc/passwd")
    (folder / INDEX).write_text(index)
    with pytest.raises(SourceError, match="does not name a file of a recording"):
        _recorded(folder).ask(GET)
