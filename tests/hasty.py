"""Limits that are short for one request alone.

A test that asks what a slow server comes to wants a short limit. The same limit holds for all the
other requests that it makes, and a machine that stands still for a moment would fail those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chartkit.fetch import download
from chartkit.fetch.limits import Limits
from chartkit.registry.transport import Transport
from tests.loopback import at_length

Hasty = Callable[[str], bool]
"""Whether a request is one that the limits are short for, by its URL."""

_LONGEST = 300.0


def first(asked: Sequence[str]) -> Hasty:
    """The first request of each URL; asked: what the server has read, which is awaited before the
    next one."""
    made: list[str] = []

    def is_hasty(url: str) -> bool:
        assert at_length(lambda: len(asked) >= len(made))
        made.append(url)
        return made.count(url) == 1

    return is_hasty


def hasty_downloads(monkeypatch: pytest.MonkeyPatch, is_hasty: Hasty) -> None:
    """Downloads keep their limits of time for these attempts alone."""
    real = download._in_time

    def in_time(url: str, limits: Limits) -> Any:
        calm = replace(limits, silence=_LONGEST, patience=_LONGEST)
        return real(url, limits if is_hasty(url) else calm)

    monkeypatch.setattr(download, "_in_time", in_time)


def hasty_registries(monkeypatch: pytest.MonkeyPatch, is_hasty: Hasty) -> None:
    """Registries are asked within their limits of time in these attempts alone."""
    real = Transport._within

    def within(transport: Transport, question: Any) -> Any:
        given = transport._limits
        if not is_hasty(question.url):
            transport._limits = replace(given, silence=_LONGEST, patience=_LONGEST)
        try:
            return real(transport, question)
        finally:
            transport._limits = given

    monkeypatch.setattr(Transport, "_within", within)
