"""`kubernetes.quantity`: amounts such as `500m` or `1Gi`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD, Refusing, accepts
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.engine.cel.values import INT_MAX, INT_MIN, Value
from chartkit.errors import Reraise
from chartkit.go.quantity import Format, Quantity, QuantityError

QUANTITY: Final = named(struct("kubernetes.Quantity"))


@dataclass(frozen=True, slots=True)
class QuantityValue(Refusing):
    """A quantity.

    small: whether Kubernetes holds it as a 64-bit number and a power of ten, which decides
    whether it counts as an integer; computed: whether it is the result of `add` or `sub`.
    """

    cel_type: ClassVar[Type] = QUANTITY

    quantity: Quantity
    small: bool
    computed: bool = False

    def __str__(self) -> str:
        """The quantity as Kubernetes prints it."""
        return str(self.quantity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuantityValue) and self.quantity == other.quantity

    def __hash__(self) -> int:
        return hash(self.quantity)

    def equals(self, other: Value) -> bool:
        """Return whether both are the same amount; raises `CelError` for a value of another type.

        A computed quantity is refused on the right side too: Kubernetes' comparison does not
        know the form in which `add` and `sub` return it.
        """
        if not isinstance(other, QuantityValue) or other.computed:
            raise CelError(NO_SUCH_OVERLOAD)
        return self.quantity == other.quantity


@lru_cache(maxsize=1024)
def parse_quantity(text: str) -> QuantityValue:
    """The quantity of a text; raises `CelError`."""
    with Reraise("", QuantityError, CelError):
        quantity = Quantity.parse(text)
    return QuantityValue(quantity, _is_small(quantity))


def _is_small(quantity: Quantity) -> bool:
    # A binary one with decimals is none, nor is one that was capped: the greatest of all.
    if quantity.format is Format.BINARY_SI:
        return quantity.exponent >= 0 and abs(quantity.unscaled) < INT_MAX
    return INT_MIN <= quantity.unscaled <= INT_MAX


def _integer(value: QuantityValue) -> int | None:
    """The whole number; None where Kubernetes does not take it for one."""
    quantity = value.quantity
    if not value.small or quantity.exponent < 0:
        return None
    if not quantity.unscaled:
        return 0
    if quantity.exponent > 18:
        return None
    number = quantity.unscaled * int(10**quantity.exponent)
    return number if INT_MIN <= number <= INT_MAX else None


def _sum(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    """The sum in the left one's format, or in the right one's where the left is zero."""
    one, other = left.quantity, right.quantity
    form = one.format if one else other.format
    if left.small and right.small:
        if not other:
            return QuantityValue(Quantity(one.unscaled, one.exponent, form), True, True)
        if not one:
            return QuantityValue(Quantity(other.unscaled, other.exponent, form), True, True)
    with Reraise("", QuantityError, CelError):
        total = one + other
    small = left.small and right.small and all(_fits(each, total) for each in (one, other, total))
    return QuantityValue(Quantity(total.unscaled, total.exponent, form), small, True)


def _fits(quantity: Quantity, total: Quantity) -> bool:
    """Return whether 64 bits hold the number in the unit of the total."""
    number = quantity.unscaled * int(10 ** (quantity.exponent - total.exponent))
    return INT_MIN <= number <= INT_MAX


def _negative(value: QuantityValue) -> QuantityValue:
    return QuantityValue(-value.quantity, value.small)


def _whole(number: int) -> QuantityValue:
    return QuantityValue(Quantity(number, 0, Format.DECIMAL_EXPONENT), True)


_quantity = overload(
    "string_to_quantity: quantity(string) -> kubernetes.Quantity",
    "The quantity that a text is.",
    "quantity('50k').asInteger()  // 50000",
    "quantity('200K')  // error: unable to parse quantity's suffix",
    cost=of_first,
)(parse_quantity)

_is_quantity = overload(
    "is_quantity_string: isQuantity(string) -> bool",
    "Whether a text is a quantity.",
    "isQuantity('1.3Gi')  // true",
    "isQuantity('1,3G')  // false",
    cost=of_first,
)(accepts(parse_quantity))


@overload(
    "quantity_sign: sign(kubernetes.Quantity) -> int",
    "-1, 0 or 1: less than, equal to or greater than nothing.",
    "sign(quantity('-5'))  // -1",
)
def _sign(value: QuantityValue) -> int:
    return (value.quantity.unscaled > 0) - (value.quantity.unscaled < 0)


_is_greater_than = overload(
    "quantity_is_greater_than: kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool",
    "Whether the quantity is greater than another.",
    "quantity('150Mi').isGreaterThan(quantity('100Mi'))  // true",
)(lambda left, right: left.quantity > right.quantity)

_is_less_than = overload(
    "quantity_is_less_than: kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool",
    "Whether the quantity is less than another.",
    "quantity('50M').isLessThan(quantity('50Mi'))  // true",
)(lambda left, right: left.quantity < right.quantity)

_compare_to = overload(
    "quantity_compare_to: kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int",
    "-1, 0 or 1: less than, equal to or greater than another quantity.",
    "quantity('200M').compareTo(quantity('0.2G'))  // 0",
)(lambda left, right: left.quantity.compare(right.quantity))

_as_float = overload(
    "quantity_get_float: kubernetes.Quantity.asApproximateFloat() -> double",
    "The quantity as a double, as near as one comes.",
    "quantity('500m').asApproximateFloat()  // 0.5",
)(lambda value: float(value.quantity))


@overload(
    "quantity_get_int: kubernetes.Quantity.asInteger() -> int",
    "The quantity as an int; an error where `isInteger` is false.",
    "quantity('50k').asInteger()  // 50000",
    "quantity('500m').asInteger()  // error: cannot convert value to integer",
)
def _as_integer(value: QuantityValue) -> int:
    number = _integer(value)
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


_is_integer = overload(
    "quantity_is_integer: kubernetes.Quantity.isInteger() -> bool",
    "Whether the quantity is a whole number of at most 18 digits, written without decimals.",
    "quantity('50k').isInteger()  // true",
    "quantity('1000m').isInteger()  // false",
)(lambda value: _integer(value) is not None)

_ADD: Final = "The sum of the quantity and another one or an int."
_SUB: Final = "The difference of the quantity and another one or an int."

_add = overload(
    "quantity_add: kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity",
    _ADD,
    "quantity('50k').add(quantity('20k')) == quantity('70k')  // true",
    "quantity('50k').add(20).asInteger()  // 50020",
    "quantity('70k') == quantity('50k').add(20000)  // error: no such overload",
)(_sum)


@overload("quantity_add_int: kubernetes.Quantity.add(int) -> kubernetes.Quantity", _ADD)
def _add_int(left: QuantityValue, right: int) -> QuantityValue:
    return _sum(left, _whole(right))


_sub = overload(
    "quantity_sub: kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity",
    _SUB,
    "quantity('50k').sub(20000) == quantity('30k')  // true",
)(lambda left, right: _sum(left, _negative(right)))


@overload("quantity_sub_int: kubernetes.Quantity.sub(int) -> kubernetes.Quantity", _SUB)
def _sub_int(left: QuantityValue, right: int) -> QuantityValue:
    return _sum(left, _negative(_whole(right)))


LIBRARY: Final = Library(
    "kubernetes.quantity",
    overloads=declared(globals()),
    doc="Amounts such as `500m` or `1Gi`.",
)
