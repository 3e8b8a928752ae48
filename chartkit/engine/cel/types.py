"""The types of CEL: what the checker reasons about and what `type(x)` gives.

`str(type)` is the text that error messages and `type()` show: `list(int)`,
`map(string, dyn)`, `optional_type(string)`, `kubernetes.Quantity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class TypeKind(Enum):
    """The kind of a type."""

    # There is one object for each kind, so that its identity is a hash, and a quick one.
    __hash__ = object.__hash__

    DYN = auto()
    ANY = auto()
    ERROR = auto()
    NULL = auto()
    BOOL = auto()
    INT = auto()
    UINT = auto()
    DOUBLE = auto()
    STRING = auto()
    BYTES = auto()
    TIMESTAMP = auto()
    DURATION = auto()
    LIST = auto()
    MAP = auto()
    OPAQUE = auto()
    """A named type with no fields, such as `kubernetes.Quantity` or `optional_type(T)`."""
    STRUCT = auto()
    """A named type with declared fields; the environment knows them by its name."""
    WRAPPER = auto()
    """A primitive that may be null."""
    PARAMETER = auto()
    """A type variable of an overload: `T`."""
    TYPE = auto()


@dataclass(frozen=True, slots=True)
class Type:
    """A type; parameters: of `list`, `map`, `optional_type`, wrappers and `type(T)`."""

    kind: TypeKind
    name: str
    parameters: tuple[Type, ...] = ()

    def __hash__(self) -> int:
        # A kind adds nothing to the name, and an enumeration's hash is slow.
        return hash((self.name, self.parameters))

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    @property
    def is_dynamic(self) -> bool:
        """Report whether the type takes any value: `dyn` and `any`."""
        return self.kind in _DYNAMIC


DYN = Type(TypeKind.DYN, "dyn")
ANY = Type(TypeKind.ANY, "google.protobuf.Any")
ERROR = Type(TypeKind.ERROR, "!error!")
NULL = Type(TypeKind.NULL, "null_type")
BOOL = Type(TypeKind.BOOL, "bool")
INT = Type(TypeKind.INT, "int")
UINT = Type(TypeKind.UINT, "uint")
DOUBLE = Type(TypeKind.DOUBLE, "double")
STRING = Type(TypeKind.STRING, "string")
BYTES = Type(TypeKind.BYTES, "bytes")
TIMESTAMP = Type(TypeKind.TIMESTAMP, "google.protobuf.Timestamp")
DURATION = Type(TypeKind.DURATION, "google.protobuf.Duration")
TYPE = Type(TypeKind.TYPE, "type")

_DYNAMIC = frozenset({TypeKind.DYN, TypeKind.ANY})


def list_of(element: Type) -> Type:
    """`list(element)`."""
    return Type(TypeKind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """`map(key, value)`."""
    return Type(TypeKind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """`optional_type(value)`."""
    return Type(TypeKind.OPAQUE, "optional_type", (value,))


def opaque(name: str, *parameters: Type) -> Type:
    """A named type with values that only functions can look into."""
    return Type(TypeKind.OPAQUE, name, parameters)


def struct(name: str) -> Type:
    """A named type with fields, which the environment declares."""
    return Type(TypeKind.STRUCT, name)


def wrapper_of(primitive: Type) -> Type:
    """`wrapper(primitive)`: the primitive or null."""
    return Type(TypeKind.WRAPPER, "wrapper", (primitive,))


def parameter(name: str) -> Type:
    """A type variable of an overload."""
    return Type(TypeKind.PARAMETER, name)


def type_of_type(value: Type) -> Type:
    """`type(value)`: the type of the type."""
    return Type(TypeKind.TYPE, "type", (value,))


LIST_DYN = list_of(DYN)
MAP_DYN = map_of(DYN, DYN)
LIST_STRING = list_of(STRING)
A = parameter("A")
B = parameter("B")
T = parameter("T")
K = parameter("K")
V = parameter("V")
