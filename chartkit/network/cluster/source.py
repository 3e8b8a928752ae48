"""A port for answers of an API server: from a live server, or from a recording of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Protocol
from urllib.parse import urlencode

from chartkit.errors import ChartkitError
from chartkit.model import Body

EXPIRED: Final = 410
FORBIDDEN: Final = 403
MISSING: Final = 404
TOO_LARGE: Final = 413


class SourceError(ChartkitError):
    """The API server, or the recording, cannot be asked any more."""


class RefusedError(ChartkitError):
    """An answer that is an error; status: of HTTP; said: the server's own words, on one line."""

    exit_code: ClassVar[int] = 1

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said or f"HTTP {status}")
        self.status = status


class Source(Protocol):
    """Answers GET requests."""

    @property
    def fault(self) -> SourceError | None:
        """The reason why nothing can be asked any more; None as long as it can."""
        ...

    def get(self, path: str, /) -> Body:
        """Return the answer to a path with its query; raises RefusedError for one that is an error,
        and SourceError where there is none."""
        ...


def with_query(path: str, query: Mapping[str, str]) -> str:
    """Return a path with a query, in a fixed order."""
    return f"{path}?{urlencode(sorted(query.items()))}" if query else path
