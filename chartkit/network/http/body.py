"""Bodies of answers, read up to a bound."""

from __future__ import annotations

import http.client
import math
import time
from typing import Final

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from chartkit.network.http.errors import Fault, NetworkError, failure

_CHUNK: Final = 65536
_DIGITS: Final = 19


def read_body(
    response: BaseHTTPResponse, most: int, seconds: float = math.inf
) -> tuple[bytes, NetworkError | None]:
    """Return the body as it was sent, without any decoding, and why it is not whole; None if it is.

    most: bytes beyond which nothing more is read, and nothing at all where the server says how
    much will come; seconds: for all of it.
    """
    announced = announced_length(response)
    if announced is not None and announced > most:
        return b"", NetworkError(Fault.TOO_LARGE)
    deadline = time.monotonic() + seconds
    content = bytearray()
    try:
        while chunk := response.read(_CHUNK, decode_content=False):
            content += chunk
            if len(content) > most:
                return bytes(content[:most]), NetworkError(Fault.TOO_LARGE)
            if time.monotonic() > deadline:
                return bytes(content), NetworkError(Fault.OVERDUE)
    except (OSError, HTTPError, http.client.HTTPException) as error:
        return bytes(content), failure(error)
    return bytes(content), None


def announced_length(response: BaseHTTPResponse) -> int | None:
    """Return the bytes that a server says it sends; None where it does not say."""
    length = response.headers.get("Content-Length", "")
    # Python reads no number of thousands of digits, and nobody reads so many bytes.
    return int(length[:_DIGITS]) if length.isascii() and length.isdigit() else None
