"""Kubernetes' `resource.Quantity`: exact numbers with the suffix they were written with.

The rules are those of apimachinery: a quantity is a whole number and a power of ten; what is
finer than nano is rounded away from zero; `1.5Gi` prints as `1536Mi`; binary values are capped
at 2^63-1; a text that is canonical prints as it was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, total_ordering

from chartkit.go import GoError
from chartkit.go.strconv import or_none

NANO = -9
_MAX_INT64 = 2**63 - 1
_INT64_DIGITS = 18
_MAX_DIGITS = 1000
"""Longer numbers are not worked out: no real quantity comes near."""


class Format(Enum):
    """The notation of a quantity: `12e6`, `12Mi` or `12M`."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*+)(?:\.(?P<fraction>[0-9]*+))?"
    r"(?P<suffix>[eEinumkKMGTP]*+[+-]?[0-9]*+)\Z"
)
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{1,18}\Z")

FORMAT_MESSAGE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIX_MESSAGE = "unable to parse quantity's suffix"
NUMBER_MESSAGE = "unable to parse numeric part of quantity"


class QuantityError(GoError):
    """Text that is not a quantity, with the message of `resource.ParseQuantity`."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled` · 10^`exponent`, in the format it was written in.

    Quantities compare by value: `1Gi == 1024Mi`. Sums and differences are exact and keep the
    format of the left operand, or of the right one where the left is zero.
    """

    unscaled: int
    exponent: int = 0
    format: Format = Format.DECIMAL_SI
    written: str = ""

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Return the quantity of a text; raises `QuantityError` (a `ValueError`)."""
        return _parse(text)

    def __str__(self) -> str:
        """The canonical text, as Kubernetes prints it."""
        if self.written:
            return self.written
        if not self:
            return "0"
        if self.format is Format.BINARY_SI:
            if self.exponent >= 0:
                whole: int | None = _shift(self, 0)
            else:
                whole_number, rest = divmod(abs(self.unscaled), _power(-self.exponent))
                whole = None if rest else whole_number * _sign(self.unscaled)
            if whole is not None and abs(whole) >= 1024:
                number, times = _strip(whole, 1024)
                return f"{number}{_BINARY_SUFFIX.get(times * 10, '')}"
        number, zeros = _strip(self.unscaled, 10)
        exponent = self.exponent + zeros
        number, exponent = number * 10 ** (exponent % 3), exponent - exponent % 3
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        digits, zeros = _strip(self.unscaled, 10)
        return hash((digits, self.exponent + zeros if digits else 0))

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __add__(self, other: Quantity) -> Quantity:
        exponent = min(self.exponent, other.exponent)
        total = _shift(self, exponent) + _shift(other, exponent)
        return Quantity(total, exponent, (self if self else other).format)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.exponent, self.format)

    def __abs__(self) -> Quantity:
        return Quantity(abs(self.unscaled), self.exponent, self.format)

    def __mul__(self, other: Quantity) -> Quantity:
        exponent = self.exponent + other.exponent
        return Quantity(self.unscaled * other.unscaled, exponent, self.format)

    def __truediv__(self, other: Quantity) -> Quantity:
        """The quotient, cut off (not rounded) after the decimals of the finer operand."""
        exponent = min(self.exponent, other.exponent)
        shift = self.exponent - other.exponent - exponent
        dividend, divisor = abs(self.unscaled), abs(other.unscaled)
        if shift >= 0:
            dividend *= _power(shift)
        else:
            divisor *= _power(-shift)
        quotient = dividend // divisor
        negative = (self.unscaled < 0) != (other.unscaled < 0)
        return Quantity(-quotient if negative else quotient, exponent, self.format)

    def __float__(self) -> float:
        """The nearest float that Kubernetes' `AsApproximateFloat64` gives."""
        try:
            number = float(self.unscaled)
        except OverflowError:
            number = float("inf") if self.unscaled > 0 else float("-inf")
        if self.exponent == 0:
            return number
        return number * _float_power(self.exponent)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1: less than, equal to or greater than the other."""
        signs = _sign(self.unscaled), _sign(other.unscaled)
        if signs[0] != signs[1] or not signs[0]:
            return _sign(signs[0] - signs[1])
        if self.exponent == other.exponent:
            return _sign(self.unscaled - other.unscaled)
        sizes = _size(self), _size(other)
        if sizes[0] != sizes[1]:
            return signs[0] if sizes[0] > sizes[1] else -signs[0]
        exponent = min(self.exponent, other.exponent)
        return _sign(_shift(self, exponent) - _shift(other, exponent))


quantity_or_none = or_none(Quantity.parse)
"""The quantity of a text; None for any other text."""


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    match = _QUANTITY.match(text)
    if match is None or not text:
        raise QuantityError(FORMAT_MESSAGE)
    whole, fraction = match["whole"].lstrip("0") or "0", match["fraction"] or ""
    base, exponent, form = _interpret(match["suffix"])
    digits = whole + fraction
    if len(digits) > _MAX_DIGITS:
        raise QuantityError(NUMBER_MESSAGE)
    value = -int(digits) if match["sign"] == "-" else int(digits)
    simple = _simple(value, len(digits), base, exponent, fraction)
    if simple is None:
        if not match["whole"] and not fraction:
            raise QuantityError(NUMBER_MESSAGE)
        if base == 10:
            return _rounded(value, exponent - len(fraction), form)
        quantity = _rounded(value << exponent, -len(fraction), form)
        # A binary quantity within 64 bits; one below 1 is written as a decimal one.
        size = abs(quantity)
        if size > Quantity(_MAX_INT64):
            return Quantity(_MAX_INT64 * _sign(quantity.unscaled), 0, Format.BINARY_SI)
        if Quantity(0) < size < Quantity(1):
            return Quantity(quantity.unscaled, quantity.exponent, Format.DECIMAL_SI)
        return quantity
    if base == 2:
        canonical = abs(value) & 7 != 0
    else:
        canonical = simple[1] % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(*simple, form, text if canonical else "")


def _simple(
    value: int, digits: int, base: int, exponent: int, fraction: str
) -> tuple[int, int] | None:
    """The number and its power of ten, where Kubernetes works with 64 bits; else None.

    It matters because only there a text may print as it was written.
    """
    if base == 10:
        exponent -= len(fraction)
        return (value, exponent) if digits <= _INT64_DIGITS and exponent >= NANO else None
    precise = not fraction and 14 - digits - exponent * 3 // 10 >= 0
    amount = value << exponent
    return (amount, 0) if precise and abs(amount) <= _MAX_INT64 else None


def _interpret(suffix: str) -> tuple[int, int, Format]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], Format.BINARY_SI
    if _EXPONENT.match(suffix):
        exponent = (int(suffix[1:]) + 2**31) % 2**32 - 2**31
        return 10, exponent, Format.DECIMAL_EXPONENT
    raise QuantityError(SUFFIX_MESSAGE)


def _rounded(value: int, exponent: int, form: Format) -> Quantity:
    """The number with nine decimals, rounded away from zero; zero keeps its decimals."""
    if not value:
        return Quantity(0, exponent, form)
    shift = exponent - NANO
    if shift >= 0:
        # Beyond the bound the zeros stay in the exponent; the value is the same.
        kept = 0 if shift > _MAX_DIGITS else shift
        return Quantity(value * _power(kept), exponent - kept, form)
    if -shift > len(str(abs(value))):
        return Quantity(_sign(value), NANO, form)
    whole, rest = divmod(abs(value), _power(-shift))
    return Quantity((whole + bool(rest)) * _sign(value), NANO, form)


def _strip(value: int, base: int) -> tuple[int, int]:
    """The value without its factors of base, and how many there were."""
    times = 0
    while value and value % base == 0:
        value, times = value // base, times + 1
    return value, times


def _shift(quantity: Quantity, exponent: int) -> int:
    return quantity.unscaled and quantity.unscaled * _power(quantity.exponent - exponent)


def _power(exponent: int) -> int:
    if exponent > _MAX_DIGITS:
        raise QuantityError(NUMBER_MESSAGE)
    return int(10**exponent)


def _float_power(exponent: int) -> float:
    """Go's `math.Pow10`: zero and infinity beyond the range of a float64."""
    if exponent > 308:
        return float("inf")
    if exponent < -323:
        return 0.0
    high, low = divmod(abs(exponent), 32)
    if exponent < 0:
        return float(f"1e-{high * 32}") / float(f"1e{low}")
    return float(f"1e{high * 32}") * float(f"1e{low}")


def _size(quantity: Quantity) -> int:
    return len(str(abs(quantity.unscaled))) + quantity.exponent


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
