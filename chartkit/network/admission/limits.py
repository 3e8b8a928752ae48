"""The bounds on what is in flight: reviews, their bytes, and the time to send one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from chartkit.network.admission.settings import ServerSettings


class Refused(Exception):  # noqa: N818 - an answer, not an error of the server
    """A request that is not judged; status: of HTTP; reason: for the API server's log."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Bounds:
    """What one worker takes on at once."""

    __slots__ = ("_settings", "in_flight", "memory")

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.in_flight = 0
        self.memory = 0

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """Give room for one review; raise Refused where there is none."""
        if self.in_flight >= self._settings.max_in_flight:
            raise Refused(429, f"{self.in_flight} reviews are in flight: try again")
        self.in_flight += 1
        slot = Slot(self, self._settings)
        try:
            yield slot
        finally:
            self.in_flight -= 1
            self.memory -= slot.size


class Slot:
    """Room for one review."""

    __slots__ = ("_bounds", "_settings", "size")

    def __init__(self, bounds: Bounds, settings: ServerSettings) -> None:
        self._bounds = bounds
        self._settings = settings
        self.size = 0

    async def read(
        self,
        headers: Mapping[bytes, bytes],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        deadline: float,
    ) -> bytes:
        """Return a request's body; raise Refused for one that is too long or too slow."""
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._settings.max_body:
            raise self._too_long()
        left = min(self._settings.body_timeout, deadline - time.monotonic())
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(left):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, "the client went away before its request was whole")
                    part = message.get("body") or b""
                    self._count(len(part))
                    parts.append(part)
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise Refused(408, f"the request was not whole after {left:.0f} s") from None

    def _count(self, size: int) -> None:
        self.size += size
        self._bounds.memory += size
        if self.size > self._settings.max_body:
            raise self._too_long()
        if self._bounds.memory > self._settings.max_memory:
            raise Refused(429, "the reviews in flight are too large together: try again")

    def _too_long(self) -> Refused:
        return Refused(413, f"the request has more than {self._settings.max_body} bytes")
