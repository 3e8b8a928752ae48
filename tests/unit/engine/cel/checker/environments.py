"""Small environments for the checker's tests, and what a check comes to."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from chartkit.engine.cel import types
from chartkit.engine.cel.checker import check
from chartkit.engine.cel.declarations import (
    Environment,
    Library,
    Options,
    Overload,
    StructType,
    Variable,
    environment,
)
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.library import standard
from chartkit.engine.cel.library.extensions.two_variable import MACROS as TWO_VARIABLE
from chartkit.engine.cel.library.standard.macros import MACROS
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.types import Type


def _unused(*_: object) -> None:
    raise AssertionError("the checker runs nothing")


def declared(
    name: str, id: str, *parameters: Type, returns: Type, member: bool = False
) -> Overload:
    """An overload that is only checked."""
    return Overload(name, id, parameters, returns, _unused, member)


_OPTIONAL_V = types.optional_of(types.V)
_MAP_K_V = types.map_of(types.K, types.V)
LIBRARY = Library(
    "test",
    overloads=(
        declared("math.abs", "math_abs", types.INT, returns=types.INT),
        declared("optional.of", "optional_of", types.V, returns=_OPTIONAL_V),
        declared("optional.none", "optional_none", returns=_OPTIONAL_V),
        declared("hasValue", "hasValue", _OPTIONAL_V, returns=types.BOOL, member=True),
        declared("quantity", "quantity", types.STRING, returns=types.struct("Quantity")),
        declared(
            "format",
            "string_format",
            *(types.STRING, types.LIST_DYN),
            returns=types.STRING,
            member=True,
        ),
        declared("cel.@mapInsert", "map_insert", *(_MAP_K_V, types.K, types.V), returns=_MAP_K_V),
        declared("flatten", "flatten", types.list_of(types.T), returns=types.T, member=True),
    ),
    macros=(*MACROS, *TWO_VARIABLE),
    structs=(
        StructType(
            "Pod",
            {
                "name": types.STRING,
                "labels": types.map_of(types.STRING, types.STRING),
                "ports": types.list_of(types.INT),
                "owner": types.struct("Pod"),
                "weight": types.wrapper_of(types.INT),
                "since": types.TIMESTAMP,
            },
        ),
        StructType("Object", None),
        StructType(
            "google.protobuf.Int64Value",
            {"value": types.INT},
            literal_type=types.wrapper_of(types.INT),
        ),
    ),
    variables={
        "object": Variable(types.DYN),
        "pod": Variable(types.struct("Pod")),
        "lost": Variable(types.struct("Lost")),
        "result": Variable(types.map_of(types.STRING, types.ANY)),
        "net.zone": Variable(types.STRING),
        "net": Variable(types.MAP_DYN),
        "net.IP": Variable(types.type_of_type(types.opaque("net.IP")), types.opaque("net.IP")),
    },
)
STRICT = environment("strict", (standard.LIBRARY, LIBRARY), Options())
LENIENT = replace(STRICT, options=Options(homogeneous=False, validate=False))


def output(source: str, among: Environment = STRICT) -> str:
    """The type of an expression, as a text."""
    return str(check(parse(source, among), among).output_type)


def complaints(source: str, among: Environment = STRICT) -> Mapping[int, str]:
    """What is wrong with an expression: messages by their columns, from 1."""
    try:
        check(parse(source, among), among)
    except CelCompileError as error:
        return MappingProxyType({(issue.offset or 0) + 1: issue.message for issue in error.issues})
    return MappingProxyType({})
