"""`math`: the largest and least, rounding, signs, bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from chartkit.engine.cel.ast import Expr, ListLiteral, Literal, MapLiteral, StructLiteral
from chartkit.engine.cel.declarations import (
    Expander,
    Implementation,
    Library,
    Macro,
    Overload,
    macro,
    overload,
    overloads,
)
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.extensions.bindings import is_namespace
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.values import UINT_MAX, Uint, Value, checked_int
from chartkit.go.strconv import wrapped

_NUMBERS: Final = ("double", "int", "uint")


def _picker(name: str, better: Callable[[Any, Any], bool]) -> Callable[[Value, Value], Value]:
    def pick(first: Value, second: Value) -> Value:
        for number in (first, second):
            if number.__class__ not in (int, Uint, float):
                raise CelError(f"no such overload: {name}")
        left, right = first, second
        if float in (first.__class__, second.__class__):
            left, right = float(first), float(second)  # type: ignore[arg-type]
            if math.isnan(left) or math.isnan(right):
                raise CelError(f"NaN values cannot be ordered: {name}")
        return second if better(right, left) else first

    return pick


def _of_list(name: str, pick: Callable[[Value, Value], Value]) -> Implementation:
    def extreme(numbers: list[Value]) -> Value:
        if not numbers:
            raise CelError(f"{name}(list) argument must not be empty")
        result = numbers[0]
        try:
            for number in numbers[1:]:
                result = pick(result, number)
        except CelError:
            # cel-go goes on with the error, and says at the end that it is not a number.
            raise CelError(f"no such overload: {name}") from None
        if result.__class__ not in (int, Uint, float):
            raise CelError(f"no such overload: {name}")
        return result

    return extreme


def _same(value: Value) -> Value:
    return value


def _extremes(name: str, better: Callable[[Any, Any], bool]) -> Iterator[Overload]:
    pick = _picker(name, better)
    of_list = _of_list(name, pick)
    head = f"math_{name.removeprefix('math.')}"
    for kind in _NUMBERS:
        yield overload(f"{head}_{kind}: {name}({kind}) -> {kind}")(_same)
        yield overload(f"{head}_list_{kind}: {name}(list({kind})) -> {kind}", cost=costs.of_list)(
            of_list
        )
        for other in _NUMBERS:
            result = kind if kind == other else "dyn"
            yield overload(f"{head}_{kind}_{other}: {name}({kind}, {other}) -> {result}")(pick)


def _whole(rounding: Callable[[float], float]) -> Implementation:
    def of_double(value: float) -> float:
        if not math.isfinite(value):
            return value
        return math.copysign(float(rounding(value)), value)

    return of_double


def _round(value: float) -> float:
    # Halves go away from zero.
    whole = math.trunc(value)
    return whole + (math.copysign(1, value) if abs(value - whole) >= 0.5 else 0)


def _sign_double(value: float) -> float:
    if math.isnan(value):
        return value
    return float((value > 0) - (value < 0))


def _root(value: float) -> float:
    number = float(value)
    return math.sqrt(number) if number >= 0 else math.nan


def _uint(code: Callable[[int, int], int]) -> Implementation:
    def of_uints(left: Uint, right: Uint) -> Uint:
        return Uint(code(int(left), int(right)))

    return of_uints


def _shift(name: str, code: Callable[[int, int], int]) -> Implementation:
    def shifted(value: int, bits: int) -> int:
        if bits < 0:
            raise CelError(f"math.{name}() negative offset: {bits}")
        unsigned = code(value % 2**64, bits) if bits < 64 else 0
        return Uint(unsigned & UINT_MAX) if value.__class__ is Uint else wrapped(unsigned)

    return shifted


_CODE: Final[dict[str, Implementation]] = {
    "math_ceil_double: math.ceil(double) -> double": _whole(math.ceil),
    "math_floor_double: math.floor(double) -> double": _whole(math.floor),
    "math_round_double: math.round(double) -> double": _whole(_round),
    "math_trunc_double: math.trunc(double) -> double": _whole(math.trunc),
    "math_isInf_double: math.isInf(double) -> bool": math.isinf,
    "math_isNaN_double: math.isNaN(double) -> bool": math.isnan,
    "math_isFinite_double: math.isFinite(double) -> bool": math.isfinite,
    "math_abs_double: math.abs(double) -> double": abs,
    "math_abs_int: math.abs(int) -> int": lambda value: checked_int(abs(value)),
    "math_abs_uint: math.abs(uint) -> uint": _same,
    "math_sign_double: math.sign(double) -> double": _sign_double,
    "math_sign_int: math.sign(int) -> int": lambda value: (value > 0) - (value < 0),
    "math_sign_uint: math.sign(uint) -> uint": lambda value: Uint(value > 0),
    "math_sqrt_double: math.sqrt(double) -> double": _root,
    "math_sqrt_int: math.sqrt(int) -> double": _root,
    "math_sqrt_uint: math.sqrt(uint) -> double": _root,
    "math_bitAnd_int_int: math.bitAnd(int, int) -> int": operator.and_,
    "math_bitAnd_uint_uint: math.bitAnd(uint, uint) -> uint": _uint(operator.and_),
    "math_bitOr_int_int: math.bitOr(int, int) -> int": operator.or_,
    "math_bitOr_uint_uint: math.bitOr(uint, uint) -> uint": _uint(operator.or_),
    "math_bitXor_int_int: math.bitXor(int, int) -> int": operator.xor,
    "math_bitXor_uint_uint: math.bitXor(uint, uint) -> uint": _uint(operator.xor),
    "math_bitNot_int_int: math.bitNot(int) -> int": lambda value: ~value,
    "math_bitNot_uint_uint: math.bitNot(uint) -> uint": lambda value: Uint(UINT_MAX - int(value)),
    "math_bitShiftLeft_int_int: math.bitShiftLeft(int, int) -> int": _shift(
        "bitShiftLeft", operator.lshift
    ),
    "math_bitShiftLeft_uint_int: math.bitShiftLeft(uint, int) -> uint": _shift(
        "bitShiftLeft", operator.lshift
    ),
    "math_bitShiftRight_int_int: math.bitShiftRight(int, int) -> int": _shift(
        "bitShiftRight", operator.rshift
    ),
    "math_bitShiftRight_uint_int: math.bitShiftRight(uint, int) -> uint": _shift(
        "bitShiftRight", operator.rshift
    ),
}


_NUMBER_CLASSES = (int, float, Uint)


def _may_be_number(expr: Expr) -> bool:
    if isinstance(expr, Literal):
        return expr.value.__class__ in _NUMBER_CLASSES
    return not isinstance(expr, ListLiteral | MapLiteral | StructLiteral)


def _extreme(name: str, function: str) -> Expander:
    def expand(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
        if not is_namespace(target, "math"):
            return None
        if not args:
            raise make.fail(target, f"{name}() requires at least one argument")
        if len(args) == 1:
            expr = args[0]
            is_number_list = (
                isinstance(expr, ListLiteral)
                and bool(expr.elements)
                and all(map(_may_be_number, expr.elements))
            )
            if not (is_number_list or _may_be_number(args[0])):
                raise make.fail(args[0], f"{name}() invalid single argument value")
            return make.call(function, args[0])
        for arg in args:
            if not _may_be_number(arg):
                raise make.fail(arg, f"{name}() simple literal arguments must be numeric")
        if len(args) == 2:
            return make.call(function, *args)
        return make.call(function, make.list_literal(*args))

    return expand


MACROS: tuple[Macro, ...] = (
    macro("math.greatest(…)", _extreme("math.greatest", "math.@max"), any_number=True),
    macro("math.least(…)", _extreme("math.least", "math.@min"), any_number=True),
)

LIBRARY: Final = Library(
    "cel.lib.ext.math",
    (
        *_extremes("math.@max", operator.gt),
        *_extremes("math.@min", operator.lt),
        *overloads(_CODE),
    ),
    macros=MACROS,
)
