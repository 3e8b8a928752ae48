"""`kyverno.json`: JSON read and written."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from chartkit.engine.cel.ast import Call, Comprehension, Expr, ListLiteral, MapLiteral
from chartkit.engine.cel.declarations import Implementation, Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import bounded_value
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable
from chartkit.engine.cel.library.printing import (
    NO_TYPE,
    content,
    doubles,
    no_conversion,
    text_of,
)
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Opaque, OptionalValue, Struct, Value
from chartkit.errors import Reraise
from chartkit.go.fmt import UnsupportedValueError, go_json, json_float
from chartkit.go.json_decoder import JsonError, parse_json

_VARIABLES = context_variable("json", "json.Json")
_CHARACTERS: Final = 3
"""Characters that are as much work as a member, beside those of every text that is made."""
_UNSUPPORTED: Final = "json: unsupported type: "
_NO_JSON: Final = {"kubernetes.NamedFormat": "func(string) []string", "kubernetes.URL": "*url.URL"}
_WRITTEN_MAP: Final = f"{_UNSUPPORTED}map[interface {{}}]interface {{}}"


@overload("unmarshal_string_dyn: json.Json.unmarshal(dyn) -> dyn")
def unmarshal(_json: Context, text: Value) -> Value:
    with Reraise("", JsonError, CelError):
        return doubles(parse_json(text_of(text)))


_marshal_read = overload(
    "marshal_dyn_string: json.Json.marshal(dyn) -> string",
    work=lambda _args, text: len(text) // _CHARACTERS if isinstance(text, str) else 0,
)(lambda _json, value: _marshalled(_outermost, value))


def _bind(arguments: Sequence[Expr]) -> Implementation:
    """Go knows a document's maps and lists from those that an expression makes.

    A map inside of what the expression makes has no JSON, and null there is 0.
    """
    written = _branches(arguments[1])
    if not all(isinstance(branch, MapLiteral) or makes_list(branch) for branch in written):
        return _marshal_read.implementation
    in_lists = any(makes_list(part) for branch in written for part in _parts(branch))
    write = partial(_made, in_lists=in_lists)
    return lambda _json, value: _marshalled(write, value)


def _branches(written: Expr) -> list[Expr]:
    """Return the possible expressions of a value: both sides of a choice."""
    if isinstance(written, Call) and written.function == "_?_:_":
        return [branch for side in written.args[1:] for branch in _branches(side)]
    return [written]


def _parts(written: Expr) -> Iterator[Expr]:
    """Return the expressions inside a list or map, at any depth."""
    if isinstance(written, ListLiteral):
        inner: Sequence[Expr] = written.elements
    elif isinstance(written, MapLiteral):
        inner = [entry.value for entry in written.entries]
    else:
        inner = [written.loop_step] if isinstance(written, Comprehension) else ()
    for part in inner:
        yield part
        yield from _parts(part)


def makes_list(written: Expr) -> bool:
    """Report whether an expression makes a list of its own."""
    if isinstance(written, Call):
        return written.function in LIST_MAKERS
    return isinstance(written, ListLiteral | Comprehension)


LIST_MAKERS: Final = frozenset({"distinct", "flatten", "reverse", "sort", "@sortByAssociatedKeys"})

marshal: Final = replace(_marshal_read, bind=_bind)


def _marshalled(write: Callable[[Value], str], value: Value) -> str:
    bounded_value(value)
    with Reraise("", UnsupportedValueError, CelError):
        return write(value)


def _made(value: Value, in_lists: bool) -> str:
    """JSON of what the expression wrote as a whole."""
    if isinstance(value, dict):
        return _object({text_of(key): _written(member, in_lists) for key, member in value.items()})
    if isinstance(value, list):
        return _array([_written(member, in_lists) for member in value])
    return _outermost(value)


def _outermost(value: Value) -> str:
    if value is None:
        return "0"
    if isinstance(value, OptionalValue):
        return _outermost(value.value) if value.present else "null"
    if isinstance(value, Type):
        return go_json(value.name)
    if isinstance(value, Struct):
        if value.type.name == "user.ServiceAccount":
            return _object({key.lower(): go_json(text) for key, text in value.fields.items()})
        if value.type.name.partition(".")[0] != "Object":
            return _scalar(value)
        return _object({key: _field(member) for key, member in value.fields.items()})
    return _document(value)


def _document(value: Value) -> str:
    """JSON of a document's part, in which null is null and objects may be nested."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return _object({text_of(key): _document(member) for key, member in value.items()})
    if isinstance(value, list):
        return _array([_document(member) for member in value])
    return _scalar(value)


def _written(value: Value, in_lists: bool) -> str:
    """JSON of a part of what the expression wrote; in_lists: it wrote the lists in it too."""
    if value is None:
        return "0"
    if isinstance(value, dict):
        raise CelError(_WRITTEN_MAP)
    if isinstance(value, list):
        if not in_lists:
            return _document(value)
        return _array([_written(member, in_lists) for member in value])
    if isinstance(value, OptionalValue):
        return _written(content(value), in_lists)
    if isinstance(value, Type):
        raise CelError(NO_TYPE)
    return _scalar(value)


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return json_float(value)
    if isinstance(value, str):
        return go_json(value)
    if isinstance(value, bytes):
        return go_json(base64.b64encode(value).decode("ascii"))
    if isinstance(value, Duration):
        return str(value.nanoseconds)
    if isinstance(value, Opaque):
        if isinstance(value, Timestamp):
            return go_json(str(value))
        name = value.cel_type.name
        if name in _NO_JSON:
            raise CelError(_UNSUPPORTED + _NO_JSON[name])
        return go_json(text_of(value))
    raise no_conversion(value, "interface {}")


def _field(value: Value) -> str:
    """JSON of an `Object`'s field, in which what the expression wrote may be nested once."""
    if isinstance(value, dict):
        return _object({text_of(key): _document(member) for key, member in value.items()})
    return _outermost(value)


def _object(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{go_json(key)}:{members[key]}" for key in sorted(members)) + "}"


def _array(elements: list[str]) -> str:
    return "[" + ",".join(elements) + "]"


LIBRARY = Library("kyverno.json", overloads=declared(globals()), variables=_VARIABLES)
