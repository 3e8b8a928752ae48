"""Equality as conditions have it: of texts with wildcards, of numbers, of lists that are empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.names import is_name
from chartkit.addons.migrate.expressions.place import MIXED, TEXT, UNKNOWN, Place
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.expressions.wildcards import fits, fits_any, fits_any_value
from chartkit.addons.migrate.jmespath import Constant, Term, Value
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json

_QUANTITY_START: Final = frozenset("+-.0123456789*?")


def equals(key: Term, value: Term) -> Expr:
    """Return whether a key equals a value; raises `NotConvertible`."""
    match key, value:
        case Value(place), Constant(wanted):
            return equals_constant(place, wanted)
        case Constant(wanted), Value(place):
            if isinstance(wanted, str) and not _is_plain(wanted):
                raise NotConvertible("a text with wildcards or a size is compared with a value")
            return equals_constant(place, wanted)
        case Value(left), Value(right):
            if left.type == TEXT and right.type in (TEXT, UNKNOWN):
                return _equal_texts(left, right.taken_for(TEXT))
            if left.type != right.type or left.type not in ("int", "bool"):
                raise NotConvertible("two values are compared whose texts may be wildcards")
            return cel.equal(left.value, right.value)
    raise NotConvertible("a list is compared with Equals")


def _equal_texts(left: Place, right: Place) -> Expr:
    """Return whether a text fits another, which may have wildcards."""
    if is_name(right):
        return cel.equal(left.value, right.value)
    return fits_any_value(left.value, right.value)


def natural(wanted: Json) -> str:
    """Return the type that a constant is compared with where nothing else is known."""
    if isinstance(wanted, bool):
        return "bool"
    if isinstance(wanted, int | float):
        return "int" if isinstance(wanted, int) else "double"
    if not isinstance(wanted, str) or (wanted and not _is_plain(wanted.replace("*", "a"))):
        raise NotConvertible(f"{wanted!r} is compared with a field of unknown type")
    return TEXT


def equals_constant(place: Place, wanted: Json) -> Expr:
    """Return whether a value is a constant, in which wildcards count."""
    if not place.is_known:
        place = place.taken_for(natural(wanted))
    value = place.value
    match wanted:
        case [] if place.is_list:
            return cel.equal(cel.method(value, "size"), 0)
        case bool():
            if place.type not in ("bool", UNKNOWN, MIXED):
                return cel.FALSE
            if place.type == "bool":
                return value if wanted else cel.negate(value)
            return cel.equal(value, wanted)
        case int() | float() if place.type in ("int", "double"):
            return cel.equal(value, float(wanted) if place.type == "double" else wanted)
        case str() if place.type == "int":
            if not wanted.lstrip("+-").isdigit():
                return cel.FALSE
            return cel.equal(value, int(wanted))
        case str() if place.type in (TEXT, UNKNOWN):
            return _equals_text(place, wanted)
    raise NotConvertible(f"a value is compared with {wanted!r}, which its type does not take")


def _equals_text(place: Place, wanted: str) -> Expr:
    value = place.value
    if place.among and not has_wildcard(wanted):
        return is_one_of(place, [wanted])
    if _is_plain(wanted) or not wanted:
        return cel.equal(value, wanted)
    if not has_wildcard(wanted):
        raise NotConvertible(f"the size or duration {wanted} is compared with a text")
    if place.type != TEXT:
        raise NotConvertible("a wildcard is compared with a value that may be no text")
    if wanted[0] in _QUANTITY_START:
        # A text that reads as a size fits no wildcard.
        return conjunction(fits(value, wanted), cel.negate(cel.call("isQuantity", value)))
    return fits(value, wanted)


def is_one_of(place: Place, texts: Sequence[str]) -> Expr:
    """Return whether a text is one of several; of those that it may be, without the others."""
    if not place.among or any(map(has_wildcard, texts)):
        return fits_any(place.value, texts)
    kept = [each for each in texts if each in place.among]
    return cel.TRUE if set(kept) == set(place.among) else fits_any(place.value, kept)


def _is_plain(text: str) -> bool:
    """Return whether a text is compared as it is: without wildcards, no size and no duration."""
    is_size = quantity_or_none(text) is not None or duration_or_none(text) is not None
    return not (has_wildcard(text) or is_size)
