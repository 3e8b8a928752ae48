"""The certificates of a time stamp in the order that DER gives a set.

Authorities write them in the order of their chain, which Go's readers take and stricter ones do
not. They stand outside what is signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_SEQUENCE: Final = 0x30
_OPTIONAL: Final = 0xA0
_LONG_TAG: Final = 0x1F
_MOST_LENGTH: Final = 4
"""Bytes of the longest length that is read."""
_PATH: Final = ((0, _SEQUENCE), (1, _SEQUENCE), (1, _OPTIONAL), (0, _SEQUENCE))
"""From a TimeStampResp to its SignedData: which element, and its tag."""


@dataclass(frozen=True, slots=True)
class _Element:
    """The offsets of an element: its start, the start of its content, its end."""

    tag: int
    start: int
    inner: int
    end: int


def with_ordered_certificates(response: bytes) -> bytes:
    """Return the same response (TimeStampResp), its certificates in order; as it is, where it is
    none."""
    start, end = 0, len(response)
    try:
        for position, tag in _PATH:
            found = list(_elements(response, start, end))[position]
            if found.tag != tag:
                return response
            start, end = found.inner, found.end
        for one in _elements(response, start, end):
            if one.tag == _OPTIONAL:
                return _ordered(response, one)
    except (IndexError, ValueError):
        return response
    return response


def _ordered(response: bytes, found: _Element) -> bytes:
    listed = (
        response[each.start : each.end] for each in _elements(response, found.inner, found.end)
    )
    return response[: found.inner] + b"".join(sorted(listed)) + response[found.end :]


def _elements(content: bytes, start: int, end: int) -> Iterator[_Element]:
    """Yield the elements one after another; raises ValueError or IndexError for what is no DER."""
    while start < end:
        tag, length, inner = content[start], content[start + 1], start + 2
        if tag & _LONG_TAG == _LONG_TAG:
            raise ValueError("a tag of several bytes")
        if length > 0x7F:
            size = length & 0x7F
            if not 0 < size <= _MOST_LENGTH:
                raise ValueError("a length that is not read")
            length = int.from_bytes(content[inner : inner + size])
            inner += size
        if inner + length > end:
            raise ValueError("an element that is longer than what holds it")
        yield _Element(tag, start, inner, inner + length)
        start = inner + length
