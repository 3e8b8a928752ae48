"""Protocol buffers in their JSON form, as Go's `protojson` reads them.

Names are accepted in either spelling, unknown and repeated ones are refused, null is nothing,
bytes are base64 in any of its alphabets and numbers may stand in text.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from chartkit.model import Body, Json
from chartkit.network.registry.client import is_deeper

_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,18})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?")
_STANDARD: Final = re.compile(r"[A-Za-z0-9+/]*(={0,2})")
_FOR_ADDRESSES: Final = re.compile(r"[A-Za-z0-9_-]*(={0,2})")
_DEEPEST: Final = 100
_INT64: Final = range(-(2**63), 2**63)


class MessageError(ValueError):
    """A text that is not the message that it should be; one line."""


def load(content: bytes | str) -> Json:
    """Return a JSON document in which no name stands twice; raises MessageError. Nor is it nested
    more than 100 deep, which Go would read, and evaluating it would not survive."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        value = json.loads(
            text,
            parse_constant=_refuse,
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_once,
        )
    except (ValueError, RecursionError) as error:
        line = (
            " ".join(str(error).split())[:200]
            if isinstance(error, ValueError)
            else "nested too deep"
        )
        raise MessageError(f"syntax error: {line}") from None
    if is_deeper(value, _DEEPEST):
        raise MessageError(f"nested more than {_DEEPEST} deep")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"invalid value {name}")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"number {text[:40]} is out of range")
    return value


def _int(text: str) -> int:
    _float(text)
    return int(text)


def _once(pairs: list[tuple[str, Json]]) -> Body:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f'duplicate field "{_printable(twice)}"')
    return made


def _printable(text: str) -> str:
    return text[:80].encode("ascii", "backslashreplace").decode()


class Message:
    """One message: what it has of the fields that it may have."""

    def __init__(
        self, value: Json, path: str, names: Collection[str], one_of: Sequence[Collection[str]] = ()
    ) -> None:
        """Read a message. names: of its fields, in camel case; one_of: groups of which one may be
        set. Raises MessageError for what is not an object, unknown or set twice."""
        if not isinstance(value, dict):
            raise MessageError(f"unexpected value for {path}: expected an object")
        spellings = {name: name for name in names}
        spellings |= {_BOUNDARY.sub("_", name.lstrip("_")).lower(): name for name in names}
        self._path = path
        self._values: Body = {}
        for written, given in value.items():
            name = spellings.get(written)
            if name is None:
                raise MessageError(f'unknown field "{_printable(written)}" in {path}')
            if name in self._values:
                raise MessageError(f'duplicate field "{name}" in {path}')
            self._values[name] = given
        self._values = {name: given for name, given in self._values.items() if given is not None}
        for group in one_of:
            if sum(name in self._values for name in group) > 1:
                raise MessageError(f"more than one of {', '.join(sorted(group))} in {path}")

    def has(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str) -> Json:
        """Return a field as it was written; None where it is not set."""
        return self._values.get(name)

    def text(self, name: str) -> str:
        """Return a text, empty where it is not set."""
        value = self._values.get(name, "")
        if not isinstance(value, str) or not _is_unicode(value):
            raise self._wrong(name, "text")
        return value

    def octets(self, name: str) -> bytes:
        """Return bytes, none where they are not set."""
        return self._octets(name, self._values.get(name, ""))

    def octets_list(self, name: str) -> tuple[bytes, ...]:
        return tuple(self._octets(name, value) for value in self._list(name))

    def integer(self, name: str) -> int:
        """Return an int64, 0 where it is not set."""
        value = self._values.get(name, 0)
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            value = int(value)
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value not in _INT64:
            raise self._wrong(name, "an int64")
        return value

    def message(
        self, name: str, names: Collection[str], one_of: Sequence[Collection[str]] = ()
    ) -> Message | None:
        """Return a message within this one, None where it is not set."""
        if name not in self._values:
            return None
        return Message(self._values[name], f"{self._path}.{name}", names, one_of)

    def messages(self, name: str, names: Collection[str]) -> tuple[Message, ...]:
        return tuple(
            Message(value, f"{self._path}.{name}[{index}]", names)
            for index, value in enumerate(self._list(name))
        )

    def _list(self, name: str) -> list[Json]:
        value = self._values.get(name, [])
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def _octets(self, name: str, value: Json) -> bytes:
        if not isinstance(value, str):
            raise self._wrong(name, "base64")
        match = _STANDARD.fullmatch(value) or _FOR_ADDRESSES.fullmatch(value)
        if match is None or (match[1] and len(value) % 4):
            raise self._wrong(name, "base64")
        bare = value.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            return base64.b64decode(bare + "=" * (-len(bare) % 4))
        except binascii.Error:
            raise self._wrong(name, "base64") from None

    def _wrong(self, name: str, kind: str) -> MessageError:
        return MessageError(f"invalid value for {self._path}.{name}: expected {kind}")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
