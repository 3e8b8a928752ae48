"""`base64` and `json.encode`: bytes and values as text."""

from __future__ import annotations

import base64
import math
from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import bounded, bounded_value
from chartkit.engine.cel.library.printing import json_of
from chartkit.engine.cel.values import Value
from chartkit.go.fmt import go_json
from chartkit.go.types import Base64Error, decode_base64


@overload("base64_decode_string: base64.decode(string) -> bytes", cost=costs.of_traversal_and_call)
def decode(text: str) -> bytes:
    try:
        return decode_base64(text)
    except Base64Error:
        return _decode_unpadded(text)


def _decode_unpadded(text: str) -> bytes:
    joined = text.replace("\r", "").replace("\n", "")
    if "=" in joined or len(joined) % 4 < 2:
        raise _refused(text)
    try:
        return decode_base64(joined + "=" * (4 - len(joined) % 4))
    except Base64Error:
        raise _refused(text) from None


def _refused(text: str) -> CelError:
    return CelError(f"illegal base64 data at input byte {_stop(text)}")


def _stop(text: str) -> int:
    """Return the byte at which a decoder without `=` stops."""
    data = text.encode("utf-8", "replace")
    digits = 0
    for at, byte in enumerate(data):
        if byte in b"\r\n":
            continue
        if byte not in _DIGITS:
            return at
        digits += 1
    return len(data) - digits % 4


_DIGITS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@overload("base64_encode_bytes: base64.encode(bytes) -> string", cost=costs.of_traversal_and_call)
def encode(data: bytes) -> str:
    bounded(len(data) * 4 // 3)
    return base64.b64encode(data).decode("ascii")


@overload("json_encode_dyn: json.encode(dyn) -> string", cost=costs.untold)
def encode_json(value: Value) -> str:
    bounded_value(value)
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise CelError(f"proto: google.protobuf.Value.number_value: invalid {shown} value")
    return go_json(json_of(value))


LIBRARY: Final = Library("cel.lib.ext.encoders", overloads=declared(globals()))
