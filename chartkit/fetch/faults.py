"""What came of a request that failed: `requests` and `urllib3` wrap one fault in another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import requests
import urllib3.exceptions

SILENT: Final = (
    TimeoutError,
    requests.exceptions.Timeout,
    urllib3.exceptions.ReadTimeoutError,
)
"""A server that said nothing in time."""


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it came of, the outermost first."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        inner = (*each.args, getattr(each, "reason", None), each.__cause__, each.__context__)
        waiting += [other for other in inner if isinstance(other, BaseException)]


def reason(error: BaseException) -> str:
    """Why a server cannot be reached, in the system's words where it has any."""
    said = [each.strerror for each in causes(error) if isinstance(each, OSError) and each.strerror]
    return said[-1] if said else type(error).__name__
