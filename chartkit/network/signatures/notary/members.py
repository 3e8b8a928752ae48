"""JSON as Go reads it into a struct, with its messages.

One thing is stricter: a member whose name differs from a known one in upper and lower case alone
is refused, where Go takes it for that one.
"""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.engine.ports.signatures import SignatureError
from chartkit.go.base64_text import Base64Error, decode_base64
from chartkit.go.calendar import Moment
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.quoting import quote
from chartkit.go.time_layout import RFC3339, TimeError, parse_time
from chartkit.model import Json
from chartkit.network.signatures.go_json import wrong


def read(raw: bytes) -> Json:
    """The value of a JSON text; raises SignatureError."""
    try:
        return parse_json(raw.decode(errors="replace"))
    except JsonError as error:
        raise SignatureError(str(error)) from None
    except RecursionError:
        raise SignatureError("exceeded max depth") from None


def members(value: Json, what: str, known: frozenset[str] = frozenset()) -> Mapping[str, Json]:
    """An object, which null is an empty one of; what: it is read into; known: its members' names.

    Raises SignatureError.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong(value, what)
    folded = {name.casefold() for name in known}
    for name in value:
        if name not in known and name.casefold() in folded:
            raise SignatureError(f"the member {quote(name)} of a {what} is spelled otherwise")
    return value


def text(value: Json, field: str, kind: str = "string") -> str:
    """A string, which null is an empty one of; field: of a struct. Raises SignatureError."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(value, f"Go struct field {field} of type {kind}")
    return value


def binary(value: Json, field: str) -> bytes:
    """What a string in base64 stands for; raises SignatureError."""
    try:
        return decode_base64(text(value, field, "[]uint8"))
    except Base64Error as error:
        raise SignatureError(str(error)) from None


def listed(value: Json, field: str, kind: str) -> list[Json]:
    """A list, which null is an empty one of; raises SignatureError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong(value, f"Go struct field {field} of type {kind}")
    return value


def time(value: Json) -> Moment | None:
    """A moment in RFC 3339, None for null; raises SignatureError."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise SignatureError("Time.UnmarshalJSON: input is not a JSON string")
    try:
        return parse_time(RFC3339, value)
    except TimeError as error:
        raise SignatureError(str(error)) from None
