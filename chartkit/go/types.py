"""Decodes objects into Go types, as `encoding/json` does, with its errors.

Field names are matched exactly or else without regard to case; null is as good as missing; unknown
fields are dropped. The first wrong type, by the order of keys, is the error; a text that its own
type cannot read stops at once. Base64 is read as `encoding/base64` does.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.errors import EvaluationError, Reraise
from chartkit.go import GoError
from chartkit.go.fmt import go_json
from chartkit.go.quantity import Quantity
from chartkit.go.strconv import quote
from chartkit.model import Body, Json

if TYPE_CHECKING:
    from chartkit.go.time_layout import Moment


_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)
_MAP: Final = "map[string]"
_LIMITS: Final = {"int32": _INT32, "int64": _INT64}
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_DIGIT = re.compile(r"[A-Za-z0-9+/]")


@dataclass(slots=True)
class _State:
    """The state of the decoder: the struct, the fields on the way, and the first wrong type."""

    struct: str = ""
    fields: list[str] = field(default_factory=list)
    wrong: str | None = None

    def mistyped(self, value: Json, wanted: str) -> None:
        """Note a value of a wrong type; null is of every type."""
        if value is not None:
            self.refuse(kind_of(value), wanted)

    def refuse(self, what: str, wanted: str) -> None:
        if self.wrong is None:
            target = f"Go struct field {self.struct}.{'.'.join(self.fields)}"
            if not self.fields:
                target = "Go value"
            self.wrong = f"json: cannot unmarshal {what} into {target} of type {wanted}"


Decoder = Callable[[Json, _State], Json]


class _Field(NamedTuple):
    """A field: its name with the types embedded before it, and what decodes it."""

    name: str
    steps: tuple[str, ...]
    decode: Decoder


class GoTypes:
    """Struct types by name, each with its fields by their JSON names.

    A field's entry is its type after the names of the structs that are embedded on the way to it:
    `[]T`, `map[string]T`, a struct's name, `bool`, `int32`, `int64`, `string`; `name=T` for a
    type that has a name; `Quantity`, `IntOrString`, `Time` and `Raw` are read as Kubernetes does;
    `[]uint8` becomes bytes, and `time.Time` a Moment. A name is printed from its last slash on.
    """

    __slots__ = ("_decoders", "_exact", "_structs", "_types")

    def __init__(self, types: Mapping[str, Mapping[str, str]], exact: bool = False) -> None:
        """exact: refuse a name that differs from a field's in upper and lower case alone."""
        self._types = types
        self._exact = exact
        self._decoders: dict[str, Decoder] = {}
        self._structs: dict[str, tuple[dict[str, _Field], dict[str, _Field]]] = {}

    def decode(self, root: str, body: Json) -> Body:
        """The object as a struct has it: only known fields, none null.

        Raises EvaluationError with Go's text.
        """
        state = _State()
        decoded: Body = self._decoder(root)(body, state)
        if state.wrong is not None:
            raise EvaluationError(state.wrong)
        return decoded

    def _decoder(self, entry: str) -> Decoder:
        decoder = self._decoders.get(entry)
        if decoder is None:
            decoder = self._decoders[entry] = self._compile(entry, _shown(entry))
        return decoder

    def _compile(self, entry: str, shown: str) -> Decoder:
        if entry in _READERS:
            return _READERS[entry]
        if entry.startswith("[]"):
            decode_one = self._decoder(entry.removeprefix("[]"))

            def decode_list(value: Json, state: _State) -> list[Json]:
                if not isinstance(value, list):
                    state.mistyped(value, shown)
                    return []
                return [decode_one(item, state) for item in value]

            return decode_list
        if entry.startswith(_MAP):
            return _map_of(self._decoder(entry.removeprefix(_MAP)), shown)
        if "=" in entry:
            return self._compile(entry.partition("=")[2], shown)
        if entry in self._types:
            return self._struct(entry, shown)
        if entry in _LIMITS:
            return _integer(_LIMITS[entry], shown)
        zero = "" if entry == "string" else False
        wanted = type(zero)

        def decode_scalar(value: Json, state: _State) -> Json:
            if type(value) is wanted:
                return value
            state.mistyped(value, shown)
            return zero

        return decode_scalar

    def _fields(self, struct: str) -> tuple[dict[str, _Field], dict[str, _Field]]:
        """The fields of a struct by their names, and by their names in lower case."""
        fields = self._structs.get(struct)
        if fields is None:
            exact = {}
            for name, entry in self._types[struct].items():
                *embedded, kind = entry.split(" ")
                exact[name] = _Field(name, (*embedded, name), self._decoder(kind))
            fields = self._structs[struct] = (
                exact,
                {_folded(name): member for name, member in exact.items()},
            )
        return fields

    def _struct(self, name: str, shown: str) -> Decoder:
        title = shown.rpartition(".")[2]

        def decode_struct(value: Json, state: _State) -> Body:
            if not isinstance(value, dict):
                state.mistyped(value, shown)
                return {}
            exact, folded = self._fields(name)
            outer, depth = state.struct, len(state.fields)
            decoded: Body = {}
            for key in sorted(value):
                entry = exact.get(key) or folded.get(_folded(key))
                member = value[key]
                if entry is not None and self._exact and entry.name != key:
                    text = f"the member {quote(key)} of {shown} is not spelled {quote(entry.name)}"
                    raise EvaluationError(text)
                if entry is None or member is None:
                    continue
                state.struct = title
                state.fields += entry.steps
                decoded[entry.name] = entry.decode(member, state)
                del state.fields[depth:]
            state.struct = outer
            return decoded

        return decode_struct


def _shown(entry: str) -> str:
    """A type as Go prints it."""
    for prefix in ("[]", _MAP):
        if entry.startswith(prefix):
            return prefix + _shown(entry.removeprefix(prefix))
    return entry.partition("=")[0].rpartition("/")[2]


def _folded(name: str) -> str:
    return name.replace("\u017f", "s").replace("\u212a", "k").lower()


def _map_of(decode_one: Decoder, shown: str) -> Decoder:
    def decode_map(value: Json, state: _State) -> Body:
        if not isinstance(value, dict):
            state.mistyped(value, shown)
            return {}
        return {key: decode_one(value[key], state) for key in sorted(value)}

    return decode_map


def _integer(limits: tuple[int, int], shown: str) -> Decoder:
    least, most = limits

    def decode_integer(value: Json, state: _State) -> int:
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int | float):
            state.refuse(kind_of(value), shown)
            return 0
        # A number as JSON has it: what fits into an int64 is one.
        is_whole = isinstance(value, int) and _INT64[0] <= value <= _INT64[1]
        text = str(int(value)) if is_whole else go_json(value)
        if not text.removeprefix("-").isdigit() or not least <= int(text) <= most:
            state.refuse(f"number {text}", shown)
            return 0
        return int(text)

    return decode_integer


def kind_of(value: Json) -> str:
    """Return the JSON type of a value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def _quantity(value: Json, _state: _State) -> Json:
    if value is None:
        return None
    with Reraise("", GoError):
        Quantity.parse(value.strip() if isinstance(value, str) else go_json(value))
    return value


def _time(value: Json, state: _State) -> Json:
    if not isinstance(value, str):
        state.mistyped(value, "string")
        return None
    from chartkit.go.time_layout import RFC3339, parse_time

    with Reraise("", GoError):
        parse_time(RFC3339, value)
    return value


def _moment(value: Json, _state: _State) -> Moment | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise EvaluationError("Time.UnmarshalJSON: input is not a JSON string")
    from chartkit.go.time_layout import RFC3339, parse_time

    with Reraise("", GoError):
        return parse_time(RFC3339, value)


def _binary(value: Json, state: _State) -> bytes:
    if not isinstance(value, str):
        state.mistyped(value, "[]uint8")
        return b""
    with Reraise("", GoError):
        return decode_base64(value)


_INT32_VALUE: Final = _integer(_LIMITS["int32"], "int32")
_READERS: Final[dict[str, Decoder]] = {
    "Quantity": _quantity,
    "IntOrString": lambda value, state: (
        value if isinstance(value, str) else _INT32_VALUE(value, state)
    ),
    "Time": _time,
    "Raw": lambda value, _state: value,
    "time.Time": _moment,
    "[]uint8": _binary,
}


class Base64Error(GoError):
    """Text that is not Base64, with the message of `StdEncoding.DecodeString`."""


def decode_base64(text: str) -> bytes:
    """Decode Base64, in which line ends do not count. Raises Base64Error."""
    joined = text.replace("\r", "").replace("\n", "")
    if not _BASE64.match(joined):
        raise Base64Error(f"illegal base64 data at input byte {_stop(text)}")
    return base64.b64decode(joined)


def _stop(text: str) -> int:
    """Return the byte at which Go's decoder stops, line ends included."""
    data = text.encode("utf-8", "surrogateescape").decode("latin-1")
    filled = at = 0
    while at < len(data):
        character = data[at]
        at += 1
        if character in "\r\n":
            continue
        if _DIGIT.match(character):
            filled = (filled + 1) % 4
            continue
        if character != "=" or filled < 2:
            return at - 1
        at = _skip_line_ends(data, at)
        if filled == 2:
            if at == len(data):
                return len(data)
            if data[at] != "=":
                return at - 1
            at = _skip_line_ends(data, at + 1)
        return at
    return at - filled


def _skip_line_ends(data: str, at: int) -> int:
    while at < len(data) and data[at] in "\r\n":
        at += 1
    return at
