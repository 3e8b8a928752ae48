"""CEL's values in Python, and the operations on any of them.

| CEL | Python |
|---|---|
| null, bool, string, bytes | None, bool, str, bytes |
| int | int, within 64 bits |
| uint | `Uint` |
| double | float |
| list | list |
| map | dict; one with keys that are not strings is a `KeyedMap` where an expression makes it |
| timestamp, duration | `Timestamp`, `Duration` (in `chartkit.engine.cel.times`) |
| optional | `OptionalValue` |
| type | `chartkit.engine.cel.types.Type` |
| object with fields (`Object{}`) | `Struct` |
| everything else | a subclass of `Opaque` |

So a document read from YAML or JSON is a CEL value as it stands, and nothing is converted. A value
is never changed after it was made. `bool` is a subclass of `int` in Python and `Uint` is one here:
code asks for `value.__class__`, not `isinstance`, where it matters. Maps may be subclasses of
dict (variables that are computed when they are asked for), so they are asked with `isinstance`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.types import Type

Value: TypeAlias = object
"""Any CEL value, as the table above has it."""

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class Uint(int):
    """An unsigned 64-bit number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


Scalar: TypeAlias = bool | int | Uint | float | str | bytes | None


class Opaque:
    """A value of a named type; equality and hash are the subclass's own."""

    __slots__ = ()

    cel_type: ClassVar[Type]

    def equals(self, other: Value) -> bool:
        """CEL's `==` with any other value; raises `CelError` where the type has no answer."""
        return other.__class__ is self.__class__ and self == other

    def type_value(self) -> Type:
        """Return the value of `type(value)`; raises `CelError` if the type has none."""
        return self.cel_type

    @abstractmethod
    def __str__(self) -> str:
        """The text that tools show for the value."""


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """`optional.of(value)`, or with `present` false `optional.none()`."""

    present: bool
    value: Value = None


NONE = OptionalValue(False)


@dataclass(frozen=True, slots=True)
class Struct:
    """An object of a declared type.

    fields: those that were set, by name; unset: what the others read as, where they may be read.
    """

    type: Type
    fields: Mapping[str, Value] = field(default_factory=dict)
    unset: Mapping[str, Value] = field(default_factory=dict, compare=False)


_MISSING = object()


class KeyedMap(dict[Value, Value]):
    """A map with keys of any type.

    Python holds `1`, `1u`, `1.0` and `true` for one key and takes no list for one; in a map that
    an expression makes each is a key of its own. A list or map is the same key as itself only. What
    dict itself would hold stays empty.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[tuple[Value, Value]] = ()) -> None:
        super().__init__()
        self._entries = {_place(entry[0]): entry for entry in entries}

    def __eq__(self, other: object) -> bool:
        return equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal(self, other)

    def __getitem__(self, key: Value) -> Value:
        return self._entries[_place(key)][1]

    def __setitem__(self, key: Value, value: Value) -> None:
        self._entries[_place(key)] = key, value

    def __contains__(self, key: Value) -> bool:
        return _place(key) in self._entries

    def __iter__(self) -> Iterator[Value]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self.items()) + "}"

    def items(self) -> ItemsView[Value, Value]:  # type: ignore[override]
        return ItemsView(self)

    def keys(self) -> KeysView[Value]:  # type: ignore[override]
        return KeysView(self)

    def values(self) -> ValuesView[Value]:  # type: ignore[override]
        """The values."""
        return ValuesView(self)

    def get(self, key: Value, default: Value = None) -> Value:
        """The value under the same key."""
        entry = self._entries.get(_place(key))
        return default if entry is None else entry[1]

    def pop(self, key: Value, default: Value = None) -> Value:
        """Remove and return the value under the very key."""
        entry = self._entries.pop(_place(key), None)
        return default if entry is None else entry[1]

    def find(self, key: Value, default: Value) -> Value:
        """The value under a key; a number that is not a key finds an equal number."""
        if key != key:
            return default
        for slot in (_place(key), *_other_places(key)):
            entry = self._entries.get(slot)
            if entry is not None:
                return entry[1]
        return default


def _place(key: Value) -> Hashable:
    """The key that equal map keys share."""
    kind = key.__class__
    if kind in _KEYS:
        return (kind, key) if key == key else (kind, id(key))
    if isinstance(key, Opaque) and key.cel_type.kind in _TIMES:
        return kind, key
    return kind, id(key)


def _other_places(key: Value) -> Iterator[Hashable]:
    """Return the keys of a number with another type and the same value."""
    kind = key.__class__
    if kind is float and key.is_integer():  # type: ignore[attr-defined]
        yield int, key
        yield Uint, key
    elif kind is int:
        yield Uint, key
    elif kind is Uint:
        yield int, key


_KEYS = frozenset({type(None), bool, int, Uint, float, str, Type})
_TIMES = frozenset({types.TypeKind.TIMESTAMP, types.TypeKind.DURATION})

OPTIONAL_TYPE = types.optional_of(types.DYN)

SCALARS: Final[dict[type, Type]] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
}
_BY_CLASS: dict[type, Type] = {
    **SCALARS,
    list: Type(types.TypeKind.LIST, "list"),
    dict: Type(types.TypeKind.MAP, "map"),
    OptionalValue: types.opaque("optional_type"),
    Type: types.TYPE,
}


def type_of(value: Value) -> Type:
    """The runtime type of a value, as `type(value)` gives it: without parameters."""
    type_ = _BY_CLASS.get(value.__class__)
    if type_ is not None:
        return type_
    if isinstance(value, Opaque):
        return value.cel_type
    if isinstance(value, Struct):
        return value.type
    if isinstance(value, dict):
        return _BY_CLASS[dict]
    raise TypeError(f"not a CEL value: {value.__class__.__name__}")


_NUMBERS = frozenset({int, Uint, float})


def equal(left: Value, right: Value) -> bool:
    """CEL's `==`: numbers by their value whatever their type, other types never equal.

    Raises `CelError` where a named type refuses the comparison (`Opaque.equals`).
    """
    kind = left.__class__
    if kind is str or kind is bool:
        return right.__class__ is kind and left == right
    if kind in _NUMBERS:
        return right.__class__ in _NUMBERS and _equal_numbers(left, right)  # type: ignore[arg-type]
    if kind is list or kind is OptionalValue or isinstance(left, dict | Struct):
        return _Comparison().composed(left, right)
    if isinstance(left, Opaque):
        return right is not None and left.equals(right)
    return right.__class__ is kind and left == right


def same(left: Value, right: Value) -> bool:
    """Report whether two values are surely equal: a refused comparison counts as no.

    `!=`, `in` and all functions that look for a member ask this, as in cel-go.
    """
    try:
        return equal(left, right)
    except CelError:
        return False


def _equal_numbers(left: float, right: float) -> bool:
    # A whole number beyond 2^53 is rounded before it is compared with a double, as in cel-go.
    if left.__class__ is not right.__class__ and float in (left.__class__, right.__class__):
        return float(left) == float(right)
    return left == right


class _Comparison:
    """The comparison of two lists, maps, objects or optionals.

    A value may stand in many places of another: each pair is compared once, so that no expression
    makes a comparison that does not end. A pair is taken for equal while it is compared; were it
    not, the answer would be no already.
    """

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], tuple[Value, Value]] = {}

    def composed(self, left: Value, right: Value) -> bool:
        """Report whether two values are equal, the first of which has members."""
        if left.__class__ is not OptionalValue:
            pair = id(left), id(right)
            if pair in self._pairs:
                return True
            # What is kept here keeps its identity.
            self._pairs[pair] = left, right
        if isinstance(left, dict):
            return isinstance(right, dict) and self._maps(left, right)
        if right.__class__ is not left.__class__:
            return False
        if isinstance(left, list):
            return len(left) == len(right) and all(map(self._members, left, right))  # type: ignore[arg-type, call-overload]
        if isinstance(left, OptionalValue):
            return self._optionals(left, right)  # type: ignore[arg-type]
        return left.type == right.type and self._maps(left.fields, right.fields)  # type: ignore[attr-defined]

    def _members(self, left: Value, right: Value) -> bool:
        kind = left.__class__
        if kind is list or kind is OptionalValue or isinstance(left, dict | Struct):
            return self.composed(left, right)
        try:
            return equal(left, right)
        except CelError:
            # cel-go takes two values for equal unless a pair of members surely differs.
            return True

    def _maps(self, left: Mapping[Value, Value], right: Mapping[Value, Value]) -> bool:
        if len(left) != len(right):
            return False
        if isinstance(left, KeyedMap) or isinstance(right, KeyedMap):
            keyed = right if isinstance(right, KeyedMap) else KeyedMap(right.items())
            return all(
                (other := keyed.find(key, _MISSING)) is not _MISSING and self._members(value, other)
                for key, value in left.items()
            )
        return all(key in right and self._members(value, right[key]) for key, value in left.items())

    def _optionals(self, left: OptionalValue, right: OptionalValue) -> bool:
        if left.present != right.present:
            return False
        kind = left.value.__class__
        if kind is list or kind is OptionalValue or isinstance(left.value, dict | Struct):
            return self.composed(left.value, right.value)
        return not left.present or equal(left.value, right.value)


INT_OVERFLOW = "integer overflow"
UINT_OVERFLOW = "unsigned integer overflow"


def checked_int(value: int) -> int:
    """The number, if an int holds it; raises `CelError`."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError(INT_OVERFLOW)


def checked_uint(value: int) -> Uint:
    """The number as a uint, if one holds it; raises `CelError`."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelError(UINT_OVERFLOW)


def divide(left: int, right: int) -> int:
    """The quotient, cut towards zero."""
    if not right:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def modulo(left: int, right: int) -> int:
    """Return the remainder of `divide`; it has the sign of the left number."""
    if not right:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def int_of_double(value: float) -> int:
    """A double cut towards zero; the two ends of int's range are out of it, as in cel-go."""
    if not -(2.0**63) < value < 2.0**63:
        raise CelError(INT_OVERFLOW)
    return int(value)


def uint_of_double(value: float) -> Uint:
    """A double cut towards zero; what is below zero overflows, if only by a fraction."""
    if not 0 <= value < 2.0**64:
        raise CelError(UINT_OVERFLOW)
    return Uint(value)


def lossless_int(value: object) -> int | None:
    """Return the value of a number of any type as a whole number; None for a fraction, and for what
    is not a number."""
    kind = value.__class__
    if kind is int or kind is Uint:
        return int(value)  # type: ignore[call-overload, no-any-return]
    if kind is float and value.is_integer() and -(2.0**63) < value < 2.0**64:  # type: ignore[attr-defined, operator]
        return int(value)  # type: ignore[call-overload, no-any-return]
    return None
