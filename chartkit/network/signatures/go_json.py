"""JSON as Go's own library reads it into a type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NoReturn

from chartkit.engine.ports import SignatureError
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.types import kind_of
from chartkit.model import Body, Json
from chartkit.network.registry.client import is_deeper

_DEEPEST: Final = 200
_SHOWN: Final = 1 << 16
"""Characters of the longest text of which it is said what is wrong."""


class Repeated(dict[str, Json]):
    """An object in which a member stands more than once; as a mapping the last one counts."""

    def __init__(self, pairs: Sequence[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _object(pairs: Sequence[tuple[str, Json]]) -> Body:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def read_object(content: bytes | str, what: str = "", kind: str = "") -> Body:
    """Return a JSON object that is not nested too deeply; what: the words before the reason; kind:
    what Go reads it into.

    What is no UTF-8 is replaced; raises SignatureError.
    """
    return _read(content, what, _object, kind)


def read_strict(content: bytes | str) -> tuple[Body, bool]:
    """Return the result of `read_object`, and whether no object in it has a member twice."""
    repeated = False

    def made(pairs: Sequence[tuple[str, Json]]) -> Body:
        nonlocal repeated
        found = _object(pairs)
        repeated = repeated or isinstance(found, Repeated)
        return found

    return _read(content, "", made), not repeated


_Make = Callable[[Sequence[tuple[str, Json]]], Body]


def _read(content: bytes | str, what: str, make: _Make, kind: str = "") -> Body:
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=make)
    except (ValueError, RecursionError):
        raise SignatureError(f"{what}{_problem(text)}") from None
    if not isinstance(value, dict):
        raise wrong(value, f"Go value of type {kind or 'map[string]interface {}'}", what)
    _check_depth(value, what)
    return value


def _problem(text: str) -> str:
    """Return Go's error of a text that is no JSON."""
    if len(text) <= _SHOWN:
        try:
            parse_json(text)
        except JsonError as error:
            return str(error)
        except RecursionError:
            return "exceeded max depth"
    return "invalid JSON"


def field(body: Body, name: str) -> Json:
    """Return a member by its name in any case, the last that is not null."""
    return next((value for value in reversed(values(body, name)) if value is not None), None)


def values(body: Body, name: str) -> Sequence[Json]:
    """Return all members of a name in any case, in order."""
    folded = name.casefold()
    return [value for key, value in _pairs(body) if key.casefold() == folded]


def struct(body: Body, name: str, place: str, what: str = "") -> Body:
    """Return a member that is an object of known members: where it stands more than once, Go fills
    one object with all of them. Empty where there is none; raises SignatureError for anything else.

    place: the field that it is read into, and its type; what: the words before the reason.
    """
    pairs: list[tuple[str, Json]] = []
    for value in values(body, name):
        if not isinstance(value, dict | None):
            raise wrong(value, f"Go struct field {place}", what)
        pairs += _pairs(value or {})
    return _object(pairs)


def mapping(body: Body, name: str, place: str) -> Body:
    """Return a member that is an object of any members; as `struct`, but that null empties it."""
    made: Body = {}
    for value in values(body, name):
        if not isinstance(value, dict | None):
            raise wrong(value, f"Go struct field {place} of type map[string]interface {{}}")
        made = {} if value is None else {**made, **value}
    return made


def wrong(value: Json, place: str, what: str = "") -> SignatureError:
    """Return the error for a value of another type than its place; what: the words before the
    reason."""
    return SignatureError(f"{what}json: cannot unmarshal {kind_of(value)} into {place}")


def _pairs(body: Body) -> Iterable[tuple[str, Json]]:
    return body.pairs if isinstance(body, Repeated) else body.items()


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _check_depth(value: Body, what: str) -> None:
    if is_deeper(value, _DEEPEST):
        raise SignatureError(f"{what}JSON is nested more than {_DEEPEST} deep")
