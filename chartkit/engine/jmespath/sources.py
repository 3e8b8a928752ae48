"""Outside sources of functions: the clock, chance and host names; tests pin them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from chartkit.engine.jmespath.errors import FunctionError
from chartkit.engine.reads import asks_outside

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _offline(host: str) -> Sequence[str]:
    raise FunctionError(f"lookup {host}: no such host")


@dataclass(frozen=True, slots=True)
class Sources:
    """now: nanoseconds since 1970; chance: random numbers; resolve: a host's IP addresses.

    Nothing is resolved by default: the engine works offline, and every name is unknown.
    """

    now: Callable[[], int] = time.time_ns
    chance: random.Random = field(default_factory=random.SystemRandom)
    resolve: Callable[[str], Sequence[str]] = _offline


_SOURCES: ContextVar[Sources] = ContextVar("jmespath_sources", default=Sources())  # noqa: B039


def current_sources() -> Sources:
    """The sources that searches use here and now."""
    asks_outside()
    return _SOURCES.get()


def current_time() -> datetime:
    """Return the time of the run by these sources, in UTC."""
    return _EPOCH + timedelta(microseconds=current_sources().now() // 1000)


@contextmanager
def use_sources(sources: Sources) -> Iterator[None]:
    """Lets every search inside the block use other sources."""
    token = _SOURCES.set(sources)
    try:
        yield
    finally:
        _SOURCES.reset(token)
