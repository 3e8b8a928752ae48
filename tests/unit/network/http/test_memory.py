"""What was verified once is known, for the same question and no other."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from chartkit.addons.signatures.source import body_key, question_key
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.errors import LookupFailed
from chartkit.network.http.limits import Memory


def _counting(answer: str | LookupFailed) -> tuple[Callable[[], str], list[None]]:
    calls: list[None] = []

    def find() -> str:
        calls.append(None)
        if isinstance(answer, LookupFailed):
            raise answer
        return answer

    return find, calls


def test_an_answer_is_found_once() -> None:
    memory: Memory[str, str] = Memory(2)
    find, calls = _counting("yes")
    assert [memory.once("a", find), memory.once("a", find)] == ["yes", "yes"]
    assert len(calls) == 1


def test_a_verdict_is_an_answer() -> None:
    memory: Memory[str, str] = Memory(2)
    find, calls = _counting(SignatureError("nobody signed"))
    for _ in range(2):
        with pytest.raises(SignatureError, match="nobody signed"):
            memory.once("a", find)
    assert len(calls) == 1


def test_the_oldest_is_forgotten() -> None:
    memory: Memory[str, str] = Memory(2)
    find, calls = _counting("yes")
    for key in ("a", "b", "c", "b", "a"):
        memory.once(key, find)
    assert len(calls) == 4


def _others(question: VerificationRequest) -> Iterator[VerificationRequest]:
    yield replace(question, image="example.com/other")
    yield replace(question, annotations={"team": "b"})
    yield replace(question, extensions={"team": "a"})
    yield replace(question, attestations=True)
    yield replace(question, ignores_log=True)


def test_questions_are_told_apart() -> None:
    question = VerificationRequest("example.com/app", annotations={"team": "a"})
    assert question_key(question) == question_key(replace(question))
    keys = {question_key(one) for one in (question, *_others(question))}
    assert len(keys) == 6


def test_bodies_are_told_apart() -> None:
    assert body_key({"a": 1, "b": 2}) == body_key({"b": 2, "a": 1})
    assert body_key({"a": 1}) != body_key({"a": 2})
    assert body_key({"a": 1}, {}) != body_key({}, {"a": 1})
