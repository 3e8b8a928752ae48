"""The time by which policies are evaluated; tests pin it with `use_sources`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from chartkit.engine.jmespath.sources import current_sources

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """The time of the run, in UTC."""
    return _EPOCH + timedelta(microseconds=current_sources().now() // 1000)
