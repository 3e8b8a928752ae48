"""JSON as Go's own library reads it into a type, with failures as verdicts (SignatureError)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NoReturn

from chartkit.engine.ports.signatures import SignatureError
from chartkit.errors import EvaluationError
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.types import GoTypes, kind_of
from chartkit.model import Body, Json
from chartkit.network.registry.client import is_deeper

_DEEPEST: Final = 200
_SHOWN: Final = 1 << 16
"""Characters of the longest text of which it is said what is wrong."""
_ANY: Final = "map[string]interface {}"


class Repeated(dict[str, Json]):
    """An object in which a member stands more than once; as a mapping the last one counts."""

    def __init__(self, pairs: Sequence[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _object(pairs: Sequence[tuple[str, Json]]) -> Body:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def read(raw: bytes | str) -> Json:
    """Return the value of a JSON text, in which the last of equal members counts."""
    try:
        return parse_json(raw.decode(errors="replace") if isinstance(raw, bytes) else raw)
    except JsonError as error:
        raise SignatureError(str(error)) from None
    except RecursionError:
        raise SignatureError("exceeded max depth") from None


def read_mapping(raw: bytes, kind: str = _ANY) -> Mapping[str, Json]:
    """Return the object of a JSON text, empty for null; kind: the Go type that it is read into."""
    value = read(raw)
    if not isinstance(value, dict | None):
        raise wrong(value, f"Go value of type {kind}")
    return value or {}


def decode(types: GoTypes, root: str, value: Json) -> Body:
    """Return a value as a Go type has it."""
    try:
        return types.decode(root, value)
    except EvaluationError as error:
        raise SignatureError(error.message) from None


def read_object(content: bytes | str, kind: str = _ANY) -> Body:
    """Return a JSON object that is not nested too deeply; kind: the Go type that it is read into.
    What is not UTF-8 is replaced."""
    return _read(content, _object, kind)


def read_strict(content: bytes | str) -> tuple[Body, bool]:
    """Return the result of `read_object`, and whether no object in it has a member twice."""
    repeated = False

    def made(pairs: Sequence[tuple[str, Json]]) -> Body:
        nonlocal repeated
        body = _object(pairs)
        repeated = repeated or isinstance(body, Repeated)
        return body

    return _read(content, made), not repeated


def _read(
    content: bytes | str, make: Callable[[Sequence[tuple[str, Json]]], Body], kind: str = _ANY
) -> Body:
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=make)
    except (ValueError, RecursionError):
        if len(text) <= _SHOWN:
            read(text)
        raise SignatureError("invalid JSON") from None
    if not isinstance(value, dict):
        raise wrong(value, f"Go value of type {kind}")
    if is_deeper(value, _DEEPEST):
        raise SignatureError(f"JSON is nested more than {_DEEPEST} deep")
    return value


def field(body: Body, name: str) -> Json:
    """Return a member by its name in any case, the last that is not null."""
    return next((value for value in reversed(values(body, name)) if value is not None), None)


def values(body: Body, name: str) -> Sequence[Json]:
    """Return all members of a name in any case, in order."""
    folded = name.casefold()
    return [value for key, value in _pairs(body) if key.casefold() == folded]


def struct(body: Body, name: str, place: str) -> Body:
    """A member that is an object of known members: where it stands more than once, Go fills one
    object with all of them. Empty where it is missing. place: the field that it is read into, and
    its type."""
    pairs: list[tuple[str, Json]] = []
    for value in values(body, name):
        if not isinstance(value, dict | None):
            raise wrong(value, f"Go struct field {place}")
        pairs += _pairs(value or {})
    return _object(pairs)


def mapping(body: Body, name: str, place: str) -> Body:
    """Return a member that is an object of any members; as `struct`, but that null empties it."""
    made: Body = {}
    for value in values(body, name):
        if not isinstance(value, dict | None):
            raise wrong(value, f"Go struct field {place} of type {_ANY}")
        made = {} if value is None else {**made, **value}
    return made


def wrong(value: Json, place: str) -> SignatureError:
    """Return the error for a value of another type than its place."""
    return SignatureError(f"json: cannot unmarshal {kind_of(value)} into {place}")


def _pairs(body: Body) -> Iterable[tuple[str, Json]]:
    return body.pairs if isinstance(body, Repeated) else body.items()


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
