"""JSON as Go's own library reads it into a type."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, NoReturn

from chartkit.engine.signatures import SignatureError
from chartkit.model import Body, Json
from chartkit.registry.depth import is_deeper

_DEEPEST: Final = 200


class Repeated(dict[str, Json]):
    """An object in which a member stands more than once; as a mapping the last one counts."""

    def __init__(self, pairs: Sequence[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _object(pairs: Sequence[tuple[str, Json]]) -> Body:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def read_object(content: bytes | str, what: str = "") -> Body:
    """A JSON object that is not nested too deeply; what: the words before the reason.

    What is no UTF-8 is replaced; raises SignatureError.
    """
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise SignatureError(f"{what}invalid JSON") from None
    if not isinstance(value, dict):
        raise SignatureError(f"{what}json: it is no object")
    _check_depth(value, what)
    return value


def field(body: Body, name: str) -> Json:
    """A member by its name in any case, the last that is not null."""
    return next((value for value in reversed(values(body, name)) if value is not None), None)


def values(body: Body, name: str) -> Sequence[Json]:
    """All members of a name in any case, in order."""
    folded = name.casefold()
    return [value for key, value in _pairs(body) if key.casefold() == folded]


def struct(body: Body, name: str, what: str = "") -> Body:
    """A member that is an object of known members: where it stands more than once, Go fills one
    object with all of them. Empty where there is none; raises SignatureError for anything else.

    what: the words before the reason.
    """
    found = [value for value in values(body, name) if value is not None]
    if not all(isinstance(value, dict) for value in found):
        raise SignatureError(f"{what}json: {name} is no object")
    return _object([pair for one in found if isinstance(one, dict) for pair in _pairs(one)])


def mapping(body: Body, name: str) -> Body:
    """A member that is an object of any members; as `struct`, but that null empties it."""
    made: Body = {}
    for value in values(body, name):
        if not isinstance(value, dict | None):
            raise SignatureError(f"json: {name} is no object")
        made = {} if value is None else {**made, **value}
    return made


def _pairs(body: Body) -> Iterable[tuple[str, Json]]:
    return body.pairs if isinstance(body, Repeated) else body.items()


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _check_depth(value: Body, what: str) -> None:
    if is_deeper(value, _DEEPEST):
        raise SignatureError(f"{what}JSON is nested more than {_DEEPEST} deep")
