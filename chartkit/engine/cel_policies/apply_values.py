"""CEL values as the JSON of objects: whole numbers stay whole."""

from __future__ import annotations

import base64

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.natives import no_conversion, text_of
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import OptionalValue, Struct, Value
from chartkit.model import Body, Json


def plain_object(value: Struct) -> Body:
    """The fields of an `Object{…}`; raises `CelError` for what an object cannot hold."""
    return {name: plain(member) for name, member in value.fields.items()}


def plain(value: Value) -> Json:
    """A value as an object holds it; raises `CelError`."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, list):
        return [plain(member) for member in value]
    if isinstance(value, dict):
        return {text_of(key): plain(member) for key, member in value.items()}
    if isinstance(value, Struct):
        return plain_object(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, OptionalValue) and value.present:
        return plain(value.value)
    raise _refused(value)


def _refused(value: Value) -> CelError:
    return no_conversion(value, "interface {}")
