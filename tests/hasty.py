"""Limits that are short for one request alone.

A test that asks what a slow server comes to wants a short limit. The same limit holds for all the
other requests that it makes, and a machine that stands still for a moment would fail those.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chartkit.network.http.transport import Request, Transport
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


def hasty(monkeypatch: pytest.MonkeyPatch, is_hasty: Hasty) -> None:
    """Have servers asked within their limits of time in these attempts alone."""
    real = Transport._in_time

    def in_time(transport: Transport, request: Request, *given: Any) -> Any:
        limits = transport._limits
        if not is_hasty(request.url):
            transport._limits = replace(limits, silence=_LONGEST, patience=_LONGEST)
        try:
            return real(transport, request, *given)
        finally:
            transport._limits = limits

    monkeypatch.setattr(Transport, "_in_time", in_time)
