"""ASN.1 in DER, as far as certificates need it."""

from __future__ import annotations

BOOLEAN = 0x01
INTEGER = 0x02
BIT_STRING = 0x03
OCTET_STRING = 0x04
OBJECT_IDENTIFIER = 0x06
SEQUENCE = 0x30
SET = 0x31
_CONTEXT = 0x80
_CONSTRUCTED = 0x20
_LONG_TAG = 0x1F
_LONG_LENGTH = 0x80


class DerError(ValueError):
    """Bytes that are not what was to be read; the message is the caller's."""


def context(number: int, constructed: bool = False) -> int:
    """The tag of a context-specific element."""
    return _CONTEXT | number | (_CONSTRUCTED if constructed else 0)


class Reader:
    """Reads the elements of DER bytes one after the other."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def peek(self, tag: int) -> bool:
        """Return whether the next element has the tag."""
        return self._at < len(self._data) and self._data[self._at] == tag

    def element(self, tag: int, problem: str) -> bytes:
        """The next element with its header; raises `DerError` with the problem."""
        if not self.peek(tag):
            raise DerError(problem)
        return self.raw(problem)

    def raw(self, problem: str) -> bytes:
        """The next element, whatever its tag, with its header."""
        start = self._at
        self.any(problem)
        return self._data[start : self._at]

    def read(self, tag: int, problem: str) -> bytes:
        """The content of the next element; raises `DerError` with the problem."""
        if not self.peek(tag):
            raise DerError(problem)
        return self.any(problem)[1]

    def integer(self, problem: str) -> int:
        """The next element as a whole number."""
        return integer(self.read(INTEGER, problem), problem)

    def object_identifier(self, problem: str) -> list[int]:
        """The next element as an object identifier."""
        return object_identifier(self.read(OBJECT_IDENTIFIER, problem), problem)

    def optional(self, tag: int, problem: str) -> bytes | None:
        """The content of the next element if it has the tag."""
        return self.read(tag, problem) if self.peek(tag) else None

    def any(self, problem: str) -> tuple[int, bytes]:
        """Tag and content of the next element."""
        data, at = self._data, self._at
        if at + 2 > len(data) or data[at] & _LONG_TAG == _LONG_TAG:
            raise DerError(problem)
        length, start = data[at + 1], at + 2
        if length >= _LONG_LENGTH:
            size = length & 0x7F
            length = int.from_bytes(data[start : start + size], "big")
            if not 1 <= size <= 4 or length < 0x80 or data[start] == 0:
                raise DerError(problem)
            start += size
        if start + length > len(data):
            raise DerError(problem)
        self._at = start + length
        return data[at], data[start : self._at]


def integer(content: bytes, problem: str) -> int:
    """A whole number; raises `DerError` where it is not in its shortest form."""
    padded = len(content) > 1 and (
        (content[0] == 0 and content[1] < 0x80) or (content[0] == 0xFF and content[1] >= 0x80)
    )
    if not content or padded:
        raise DerError(problem)
    return int.from_bytes(content, "big", signed=True)


def bits(content: bytes, problem: str) -> bytes:
    """A bit string's bytes, shifted so that its last bit is the last one."""
    if not content or content[0] > 7 or (content[0] and len(content) == 1):
        raise DerError(problem)
    shifted = int.from_bytes(content[1:], "big") >> content[0]
    return shifted.to_bytes(len(content) - 1, "big")


def bit_at(content: bytes, index: int) -> bool:
    """One bit of a bit string's content, counted from the left."""
    byte = index // 8 + 1
    inside = byte < len(content) and index < (len(content) - 1) * 8 - content[0]
    return inside and bool(content[byte] >> (7 - index % 8) & 1)


def object_identifier(content: bytes, problem: str) -> list[int]:
    """The numbers of an object identifier."""
    numbers, value, open_ = [], 0, True
    for byte in content:
        value = value << 7 | byte & 0x7F
        open_ = byte >= 0x80
        if not open_:
            numbers.append(value)
            value = 0
    if open_ or not numbers:
        raise DerError(problem)
    first = min(numbers[0] // 40, 2)
    return [first, numbers[0] - 40 * first, *numbers[1:]]
