"""The bounds on what is in flight: reviews, their bytes, and the time to send one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from chartkit.network.admission.settings import ServerSettings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
_PASSED_OVER: Final = 8
"""A body that is too long is read to its end up to this multiple of the longest one, for the client
to read the answer."""


class Refused(Exception):  # noqa: N818 - an answer, not an error of the server
    """A request that is not judged; status: of HTTP; reason: for the API server's log."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Bounds:
    """The bounds on the work that one worker takes on at once."""

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
        receive: Receive,
        deadline: float,
    ) -> bytes:
        """Return a request's body; raise Refused for one that is too long or too slow."""
        declared = headers.get(b"content-length", b"")
        length = int(declared) if declared.isdigit() else -1
        is_long = length > self._settings.max_body
        left = min(self._settings.body_timeout, deadline - time.monotonic())
        content = bytearray()
        try:
            async with asyncio.timeout(left):
                while True:
                    part, is_last = await _part(receive)
                    if is_long or self.size + len(part) > self._settings.max_body:
                        is_long = True
                        await self._pass_over(receive, is_last)
                    self._count(len(part))
                    # Servers say that more may come until they looked for it, which takes as long.
                    is_last = is_last or self.size == length
                    if is_last and not content:
                        return part
                    content += part  # Parts may be a byte each, and take fifty on their own.
                    if is_last:
                        return bytes(content)
        except TimeoutError:
            if is_long:
                raise self._too_long() from None
            raise Refused(408, f"the request was not whole after {left:.0f} s") from None

    async def _pass_over(self, receive: Receive, is_last: bool) -> NoReturn:
        """Read on, so that a client which sends all before it listens gets the answer too; keep
        nothing. Raise Refused."""
        passed = 0
        while not is_last and passed < _PASSED_OVER * self._settings.max_body:
            part, is_last = await _part(receive)
            passed += len(part)
        raise self._too_long()

    def _too_long(self) -> Refused:
        return Refused(413, f"the request has more than {self._settings.max_body} bytes")

    def _count(self, size: int) -> None:
        self.size += size
        self._bounds.memory += size
        if self._bounds.memory > self._settings.max_memory:
            raise Refused(429, "the reviews in flight are too large together: try again")


async def _part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next part of a body, and whether it is the last one."""
    message = await receive()
    if message["type"] != "http.request":
        raise Refused(400, "the client went away before its request was whole")
    return message.get("body") or b"", not message.get("more_body")
