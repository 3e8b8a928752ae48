"""Types that a conversion assumes of fields that no table knows, and the objects that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Body, Json

_MAPS: Final = ("labels", "annotations")
WORDS: Final = {
    TEXT: "a string",
    "int": "a whole number",
    "double": "a number",
    "bool": "a boolean",
    "quantity": "a number or a quantity",
    ANY_LIST: "a list",
    ANY_MAP: "an object",
}
"""By type: the words for it."""


def described(assumed: Mapping[str, str]) -> str:
    """Return assumptions as a sentence; empty for none."""
    if not assumed:
        return ""
    named = [f"{path} is {WORDS[type_]}" for path, type_ in sorted(assumed.items())]
    return f"the schema is not known; it is assumed that {', '.join(named)}"


def meets(body: Body, assumed: Mapping[str, str]) -> bool:
    """Return whether every field of an object that is assumed to have a type has it, or is not
    there; labels and annotations are texts in any case."""
    metadata = body.get("metadata")
    maps = [metadata[key] for key in _MAPS if key in metadata] if metadata else []
    if not all(_is_text_map(each) for each in maps):
        return False
    return all(
        _is(value, type_) for path, type_ in assumed.items() for value in _values(body, path)
    )


def _is_text_map(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _values(body: Json, path: str) -> Iterator[Json]:
    found = [body]
    for step in path.split("."):
        key, is_list = step.removesuffix("[]"), step.endswith("[]")
        objects = [each for each in found if isinstance(each, dict)]
        if key == "*":
            found = [value for each in objects for value in each.values()]
        else:
            found = [each[key] for each in objects if key in each]
        if is_list:
            found = [one for each in found if isinstance(each, list) for one in each]
    yield from found


def _is(value: Json, type_: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return is_number and float(value).is_integer()
        case "double":
            return is_number
        case "quantity":
            return is_number or (isinstance(value, str) and quantity_or_none(value) is not None)
        case _:
            return isinstance(value, list if type_ == ANY_LIST else dict)
