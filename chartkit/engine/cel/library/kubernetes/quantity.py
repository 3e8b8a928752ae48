"""`kubernetes.quantity`: amounts such as `500m` or `1Gi`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Example, Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD, Refusing
from chartkit.engine.cel.types import BOOL, DOUBLE, INT, STRING, Type, struct
from chartkit.engine.cel.values import INT_MAX, INT_MIN, Value
from chartkit.go.quantity import Format, Quantity, QuantityError

QUANTITY: Final = struct("kubernetes.Quantity")


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
    try:
        quantity = Quantity.parse(text)
    except QuantityError as error:
        raise CelError(str(error)) from None
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
    try:
        total = one + other
    except QuantityError as error:
        raise CelError(str(error)) from None
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


@overload(
    "quantity",
    "string_to_quantity",
    STRING,
    returns=QUANTITY,
    cost=of_first,
    doc="The quantity that a text is.",
    examples=(
        Example("quantity('50k').asInteger()", "50000"),
        Example(
            "quantity('200K')",
            "unable to parse quantity's suffix",
            error=True,
        ),
    ),
)
def _quantity(text: str) -> QuantityValue:
    return parse_quantity(text)


@overload(
    "isQuantity",
    "is_quantity_string",
    STRING,
    returns=BOOL,
    cost=of_first,
    doc="Whether a text is a quantity.",
    examples=(Example("isQuantity('1.3Gi')", "true"), Example("isQuantity('1,3G')", "false")),
)
def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except CelError:
        return False
    return True


@overload(
    "sign",
    "quantity_sign",
    QUANTITY,
    returns=INT,
    doc="-1, 0 or 1: less than, equal to or greater than nothing.",
    examples=(Example("sign(quantity('-5'))", "-1"),),
)
def _sign(value: QuantityValue) -> int:
    return (value.quantity.unscaled > 0) - (value.quantity.unscaled < 0)


@overload(
    "isGreaterThan",
    "quantity_is_greater_than",
    QUANTITY,
    QUANTITY,
    returns=BOOL,
    member=True,
    doc="Whether the quantity is greater than another.",
    examples=(Example("quantity('150Mi').isGreaterThan(quantity('100Mi'))", "true"),),
)
def _is_greater_than(left: QuantityValue, right: QuantityValue) -> bool:
    return left.quantity > right.quantity


@overload(
    "isLessThan",
    "quantity_is_less_than",
    QUANTITY,
    QUANTITY,
    returns=BOOL,
    member=True,
    doc="Whether the quantity is less than another.",
    examples=(Example("quantity('50M').isLessThan(quantity('50Mi'))", "true"),),
)
def _is_less_than(left: QuantityValue, right: QuantityValue) -> bool:
    return left.quantity < right.quantity


@overload(
    "compareTo",
    "quantity_compare_to",
    QUANTITY,
    QUANTITY,
    returns=INT,
    member=True,
    doc="-1, 0 or 1: less than, equal to or greater than another quantity.",
    examples=(Example("quantity('200M').compareTo(quantity('0.2G'))", "0"),),
)
def _compare_to(left: QuantityValue, right: QuantityValue) -> int:
    return left.quantity.compare(right.quantity)


@overload(
    "asApproximateFloat",
    "quantity_get_float",
    QUANTITY,
    returns=DOUBLE,
    member=True,
    doc="The quantity as a double, as near as one comes.",
    examples=(Example("quantity('500m').asApproximateFloat()", "0.5"),),
)
def _as_float(value: QuantityValue) -> float:
    return float(value.quantity)


@overload(
    "asInteger",
    "quantity_get_int",
    QUANTITY,
    returns=INT,
    member=True,
    doc="The quantity as an int; an error where `isInteger` is false.",
    examples=(
        Example("quantity('50k').asInteger()", "50000"),
        Example("quantity('500m').asInteger()", "cannot convert value to integer", error=True),
    ),
)
def _as_integer(value: QuantityValue) -> int:
    number = _integer(value)
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


@overload(
    "isInteger",
    "quantity_is_integer",
    QUANTITY,
    returns=BOOL,
    member=True,
    doc="Whether the quantity is a whole number of at most 18 digits, written without decimals.",
    examples=(
        Example("quantity('50k').isInteger()", "true"),
        Example("quantity('1000m').isInteger()", "false"),
    ),
)
def _is_integer(value: QuantityValue) -> bool:
    return _integer(value) is not None


_ADD: Final = "The sum of the quantity and another one or an int."
_SUB: Final = "The difference of the quantity and another one or an int."


@overload(
    "add",
    "quantity_add",
    QUANTITY,
    QUANTITY,
    returns=QUANTITY,
    member=True,
    doc=_ADD,
    examples=(
        Example("quantity('50k').add(quantity('20k')) == quantity('70k')", "true"),
        Example("quantity('50k').add(20).asInteger()", "50020"),
        Example("quantity('70k') == quantity('50k').add(20000)", NO_SUCH_OVERLOAD, error=True),
    ),
)
def _add(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    return _sum(left, right)


@overload("add", "quantity_add_int", QUANTITY, INT, returns=QUANTITY, member=True, doc=_ADD)
def _add_int(left: QuantityValue, right: int) -> QuantityValue:
    return _sum(left, _whole(right))


@overload(
    "sub",
    "quantity_sub",
    QUANTITY,
    QUANTITY,
    returns=QUANTITY,
    member=True,
    doc=_SUB,
    examples=(Example("quantity('50k').sub(20000) == quantity('30k')", "true"),),
)
def _sub(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    return _sum(left, _negative(right))


@overload("sub", "quantity_sub_int", QUANTITY, INT, returns=QUANTITY, member=True, doc=_SUB)
def _sub_int(left: QuantityValue, right: int) -> QuantityValue:
    return _sum(left, _negative(_whole(right)))


LIBRARY: Final = Library(
    "kubernetes.quantity",
    overloads=declared(globals()),
    doc="Amounts such as `500m` or `1Gi`.",
)
