"""`kubernetes.quantity`: amounts such as `500m` or `1Gi`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, declared, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD, Refusing, accepts
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.engine.cel.values import INT_MAX, INT_MIN, Value
from chartkit.errors import Reraise
from chartkit.go.quantity import Format, Quantity, QuantityError

QUANTITY: Final = named(struct("kubernetes.Quantity"), "Quantity")


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
        """Report whether both are the same amount; raises `CelError` for a value of another type.

        A computed quantity is refused on the right side too: Kubernetes' comparison does not know
        the form in which `add` and `sub` return it.
        """
        if not isinstance(other, QuantityValue) or other.computed:
            raise CelError(NO_SUCH_OVERLOAD)
        return self.quantity == other.quantity


@lru_cache(maxsize=1024)
def parse_quantity(text: str) -> QuantityValue:
    """The quantity of a text; raises `CelError`."""
    with Reraise("", QuantityError, CelError):
        quantity = Quantity.parse(text)
    # A binary one with decimals is none, nor is one that was capped: the greatest of all.
    if quantity.format is Format.BINARY_SI:
        is_small = quantity.exponent >= 0 and abs(quantity.unscaled) < INT_MAX
    else:
        is_small = INT_MIN <= quantity.unscaled <= INT_MAX
    return QuantityValue(quantity, is_small)


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
    first, other = left.quantity, right.quantity
    form = first.format if first else other.format
    if left.small and right.small:
        if not other:
            return QuantityValue(Quantity(first.unscaled, first.exponent, form), True, True)
        if not first:
            return QuantityValue(Quantity(other.unscaled, other.exponent, form), True, True)
    with Reraise("", QuantityError, CelError):
        total = first + other
    small = left.small and right.small and all(_fits(term, total) for term in (first, other, total))
    return QuantityValue(Quantity(total.unscaled, total.exponent, form), small, True)


def _fits(quantity: Quantity, total: Quantity) -> bool:
    """Report whether 64 bits hold the number in the unit of the total."""
    number = quantity.unscaled * int(10 ** (quantity.exponent - total.exponent))
    return INT_MIN <= number <= INT_MAX


def _difference(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    """The sum with the negative, which in 64 bits of the least number is that number again."""
    if right.quantity.unscaled == INT_MIN and left.small and right.small:
        total = _sum(left, right)
        if total.small:
            return total
    return _sum(left, QuantityValue(-right.quantity, right.small))


def _whole(number: int) -> QuantityValue:
    return QuantityValue(Quantity(number, 0, Format.DECIMAL_EXPONENT), True)


def _as_integer(value: QuantityValue) -> int:
    number = _integer(value)
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


_MAKING: Final = overloads(
    {
        "string_to_quantity: quantity(string) -> Quantity": parse_quantity,
        "is_quantity_string: isQuantity(string) -> bool": accepts(parse_quantity),
    },
    cost=of_first,
)
_READING: Final = overloads(
    {
        "quantity_sign: sign(Quantity) -> int": (
            lambda value: (value.quantity.unscaled > 0) - (value.quantity.unscaled < 0)
        ),
        "quantity_is_greater_than: Quantity.isGreaterThan(Quantity) -> bool": (
            lambda left, right: left.quantity > right.quantity
        ),
        "quantity_is_less_than: Quantity.isLessThan(Quantity) -> bool": (
            lambda left, right: left.quantity < right.quantity
        ),
        "quantity_compare_to: Quantity.compareTo(Quantity) -> int": (
            lambda left, right: left.quantity.compare(right.quantity)
        ),
        "quantity_get_float: Quantity.asApproximateFloat() -> double": (
            lambda value: float(value.quantity)
        ),
        "quantity_get_int: Quantity.asInteger() -> int": _as_integer,
        "quantity_is_integer: Quantity.isInteger() -> bool": (
            lambda value: _integer(value) is not None
        ),
        "quantity_add: Quantity.add(Quantity) -> Quantity": _sum,
        "quantity_add_int: Quantity.add(int) -> Quantity": (
            lambda left, right: _sum(left, _whole(right))
        ),
        "quantity_sub: Quantity.sub(Quantity) -> Quantity": _difference,
        "quantity_sub_int: Quantity.sub(int) -> Quantity": (
            lambda left, right: _difference(left, _whole(right))
        ),
    }
)

LIBRARY: Final = Library("kubernetes.quantity", overloads=declared(globals()))
