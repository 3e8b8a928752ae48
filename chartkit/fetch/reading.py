"""Bodies of answers, read up to a bound."""

from __future__ import annotations

import time
from typing import Final

import requests

_CHUNK: Final = 65536
_DIGITS: Final = 19


class TooLargeError(Exception):
    """An answer is larger than it may be."""


class EndlessError(Exception):
    """An answer is not at its end when its time is over."""


def read_body(response: requests.Response, most: int, seconds: float) -> bytes:
    """The body as it was sent, without any decoding; most: bytes; seconds: for all of it.

    Raises TooLargeError, before anything is read where the server says how much will come, and
    EndlessError; urllib3's errors for a body that is cut.
    """
    announced = announced_length(response)
    if announced is not None and announced > most:
        raise TooLargeError
    deadline = time.monotonic() + seconds
    content = bytearray()
    while chunk := response.raw.read(_CHUNK, decode_content=False):
        content += chunk
        if len(content) > most:
            raise TooLargeError
        if time.monotonic() > deadline:
            raise EndlessError
    return bytes(content)


def announced_length(response: requests.Response) -> int | None:
    """The bytes that a server says it sends; None where it does not say."""
    length = response.headers.get("Content-Length", "")
    # Python reads no number of thousands of digits, and nobody reads so many bytes.
    return int(length[:_DIGITS]) if length.isascii() and length.isdigit() else None
