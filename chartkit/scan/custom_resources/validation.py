"""Values judged by a schema, as kube-openapi does: types, limits, members, alternatives.

Source: k8s.io/kube-openapi/pkg/validation/validate. Of alternatives that all fail, the errors of
the one with the most checks that passed are given; `Outcome.checks` counts them as upstream does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from chartkit.go import GoError
from chartkit.go.fmt import format_float
from chartkit.go.regexp import compile_regex
from chartkit.go.strconv import quote
from chartkit.model import Body, Json
from chartkit.scan.custom_resources.formats import TESTS
from chartkit.scan.custom_resources.outcome import Outcome, Place, add, fail, fail_unnamed
from chartkit.scan.custom_resources.problems import (
    Problem,
    Reason,
    shown,
)
from chartkit.scan.custom_resources.schema import Schema


def value_problems(schema: Schema, body: Body) -> list[Problem]:
    """Return the errors of an object; raise TooMuchWork."""
    return list(_judged(schema, body, Place()).problems.values())


def _judged(schema: Schema, value: Json, place: Place) -> Outcome:
    outcome = Outcome()
    place.work.spend()
    if value is None:
        outcome.merge(_type(schema, value, place))
        _enum(schema, value, place, outcome)
        return outcome
    if schema.types or schema.format:
        outcome.merge(_type(schema, value, place))
        outcome.checks += 1
    outcome.merge(_alternatives(schema, value, place))
    outcome.checks += 1
    check = _BY_CLASS.get(type(value))
    if check is not None:
        check(schema, value, place, outcome)
        outcome.checks += 1
    _enum(schema, value, place, outcome)
    outcome.checks += 2
    return outcome


_TYPE_NAMES: Final[Mapping[type, tuple[str, str]]] = {
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    str: ("string", ""),
    list: ("array", ""),
    dict: ("object", ""),
}
_ARITHMETIC: Final = frozenset({"integer", "number"})


def _type(schema: Schema, value: Json, place: Place) -> Outcome:
    outcome = Outcome(checks=1)
    types = schema.types
    if value is None:
        if types and not schema.nullable:
            _wrong_type(outcome, place, ",".join(types), "null")
        return outcome
    name, kind_format = _TYPE_NAMES[type(value)]
    expected = known_format(schema)
    fits = (
        name in types
        or (name == "number" and "integer" in types and is_whole(value))
        or (name == "integer" and "number" in types)
    )
    sequence = name in ("string", "array")
    if not sequence and expected and not (fits or kind_format == expected):
        _wrong_type(outcome, place, expected, kind_format)
    elif sequence and expected and _ARITHMETIC.isdisjoint(types):
        return outcome
    elif types and not fits:
        _wrong_type(outcome, place, ",".join(types), name)
    return outcome


def _wrong_type(outcome: Outcome, place: Place, expected: str, found: str) -> None:
    message = f"{place.name} in body must be of type {expected}: {quote(found)}"
    outcome.checks = 0
    fail(outcome, place, Reason.TYPE, message, found)


def known_format(schema: Schema) -> str:
    """Return the format of a schema, empty where API servers do not know it."""
    given = schema.format
    if schema.types == ("integer",):
        return given if given in ("int32", "int64") else ""
    if schema.types == ("number",):
        return given if given in ("float", "double") else ""
    if schema.types in ((), ("string",)):
        return given if given.replace("-", "") in TESTS else ""
    return ""


_EPSILON: Final = 1e-9
_LARGEST: Final = float(1 << 53)


def is_whole(number: float) -> bool:
    """Return whether a number counts as an integer: the error of a float64 does not matter."""
    if not math.isfinite(number) or abs(number) > _LARGEST:
        return False
    nearest = math.trunc(number)
    if number == nearest:
        return True
    return abs(number - nearest) / (abs(number) + abs(nearest)) < _EPSILON


def _text(schema: Schema, text: Json, place: Place, outcome: Outcome) -> None:
    message = _text_fault(schema, text, place, outcome)
    if message:
        fail(outcome, place, Reason.INVALID, message, text)
    form = known_format(schema)
    test = TESTS.get(form.replace("-", "")) if form else None
    if test is not None:
        outcome.checks += 1
        if not test(text):
            message = f"{place.name} in body must be of type {form}: {quote(text)}"
            fail(outcome, place, Reason.TYPE, message, text)


def _text_fault(schema: Schema, text: str, place: Place, outcome: Outcome) -> str:
    """Return the fault of a text, after adding one that has other words."""
    bounds = schema.bounds
    if bounds.max_length is not None and len(text) > bounds.max_length:
        message = f"{place.name} in body should be at most {bounds.max_length} chars long"
        unit = "byte" if bounds.max_length == 1 else "bytes"
        detail = f"may not be more than {bounds.max_length} {unit}"
        add(outcome, place, message, Reason.TOO_LONG, detail)
        return ""
    if bounds.min_length is not None and len(text) < bounds.min_length:
        return f"{place.name} in body should be at least {bounds.min_length} chars long"
    if not schema.pattern:
        return ""
    try:
        matches = compile_regex(schema.pattern).matches(text)
    except GoError as error:
        told = f"{schema.pattern}, but pattern is invalid: {error}"
        return f"{place.name} in body should match '{told}'"
    return "" if matches else f"{place.name} in body should match '{schema.pattern}'"


_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def _number(schema: Schema, number: Json, place: Place, outcome: Outcome) -> None:
    bounds = schema.bounds
    message = _range_fault(schema, number, place)
    if message:
        fail_unnamed(outcome, place, message)
    for limit, exclusive, sign, words in (
        (bounds.maximum, bounds.exclusive_maximum, 1, "less than"),
        (bounds.minimum, bounds.exclusive_minimum, -1, "greater than"),
    ):
        if limit is None:
            continue
        edge = math.trunc(limit) if isinstance(number, int) else limit
        beyond = (number - edge) * sign
        if beyond > 0 or (exclusive and beyond == 0):
            words = words if exclusive else f"{words} or equal to"
            text = str(edge) if isinstance(edge, int) else format_float(edge)
            fail(
                outcome,
                place,
                Reason.INVALID,
                f"{place.name} in body should be {words} {text}",
                number,
            )
    factor = bounds.multiple_of
    if factor is not None and not _is_multiple(number, factor):
        unit = math.trunc(factor) if isinstance(number, int) else factor
        text = str(unit) if isinstance(unit, int) else format_float(unit)
        told = f"{place.name} in body should be a multiple of {text}"
        if unit <= 0:
            told = f"factor MultipleOf declared for {place.name} must be positive: {text}"
        fail(outcome, place, Reason.INVALID, told, number if unit > 0 else unit)
    outcome.checks += 1


def _range_fault(schema: Schema, number: float, place: Place) -> str:
    form = known_format(schema)
    if schema.types == ("integer",):
        least, most = _RANGES.get(form, _RANGES["int64"])
        whole = isinstance(number, int) or number.is_integer()
        if not whole or not least <= number <= most:
            which = f"with format {form}" if form else "(default format)"
            return f"Checked value must be of type integer {which} in {place.name}"
    if form == "float" and abs(number) > _LARGEST_FLOAT32:
        return f"Checked value must be of type number with format float in {place.name}"
    return ""


_LARGEST_FLOAT32: Final = 3.4028235677973366e38


def _is_multiple(number: float, factor: float) -> bool:
    if factor <= 0:
        return False
    if isinstance(number, int):
        unit = math.trunc(factor)
        return unit > 0 and number % unit == 0
    return is_whole(1 / factor * number if factor < 1 else number / factor)


def _list(schema: Schema, values: Json, place: Place, outcome: Outcome) -> None:
    if schema.items is not None:
        for at, each in enumerate(values):
            outcome.merge(_judged(schema.items, each, place.item(at)))
    bounds = schema.bounds
    _count(outcome, place, len(values), "items", (bounds.min_items, bounds.max_items))
    outcome.checks += 1


def _count(
    outcome: Outcome, place: Place, size: int, noun: str, bounds: tuple[int | None, int | None]
) -> None:
    """Judge the number of items or properties."""
    least, most = bounds
    said = f"{place.name} in body should have at"
    if least is not None and size < least:
        fail(outcome, place, Reason.INVALID, f"{said} least {least} {noun}", size)
    if most is not None and size > most:
        detail = f"must have at most {most} item{'' if most == 1 else 's'}"
        add(outcome, place, f"{said} most {most} {noun}", Reason.TOO_MANY, detail, size)


def _object(schema: Schema, body: Json, place: Place, outcome: Outcome) -> None:
    least, most = schema.bounds.min_properties, schema.bounds.max_properties
    _count(outcome, place, len(body), "properties", (least, most))
    _entries(schema, body, place, outcome)
    for key, below in schema.properties.items():
        if key in body:
            outcome.merge(_judged(below, body[key], place.field(key)))
    for key in schema.required:
        if key not in body:
            missing = place.entry(key)
            fail(outcome, missing, Reason.REQUIRED, f"{missing.name} in body is required")


def _entries(schema: Schema, body: Body, place: Place, outcome: Outcome) -> None:
    """Judge the members that are no properties."""
    if schema.additional is None or schema.additional is True:
        return
    for key in body:
        if key in schema.properties:
            continue
        if isinstance(schema.additional, Schema):
            outcome.merge(_judged(schema.additional, body[key], place.entry(key)))
        else:
            message = f"{place.name}.{key} in body is a forbidden property"
            fail(outcome, place, Reason.INVALID, message, key)


_BY_CLASS: Final[Mapping[type, Callable[[Schema, Json, Place, Outcome], None]]] = {
    str: _text,
    int: _number,
    float: _number,
    list: _list,
    dict: _object,
}


def _enum(schema: Schema, value: Json, place: Place, outcome: Outcome) -> None:
    if not schema.enum or (
        value is not None and any(_is_same(value, each) for each in schema.enum)
    ):
        return
    listed = [each if isinstance(each, str) else shown(each) for each in schema.enum]
    detail = f"supported values: {', '.join(map(quote, listed))}"
    message = f"{place.name} in body should be one of {listed}"
    add(outcome, place, message, Reason.UNSUPPORTED, detail, value)


def _is_same(value: Json, other: Json) -> bool:
    is_bool = isinstance(value, bool) or isinstance(other, bool)
    return value == other and (not is_bool or type(value) is type(other))


def _alternatives(schema: Schema, value: Json, place: Place) -> Outcome:
    outcome = Outcome()
    if schema.any_of:
        outcome.merge(_any(schema.any_of, value, place))
    if schema.one_of:
        outcome.merge(_one(schema.one_of, value, place))
    if schema.all_of:
        outcome.merge(_all(schema.all_of, value, place))
    if schema.negated is not None and not _judged(schema.negated, value, place).problems:
        message = f'"{place.name}" must not validate the schema (not)'
        fail_unnamed(outcome, place, message)
    outcome.checks += 1
    return outcome


def _any(branches: Iterable[Schema], value: Json, place: Place) -> Outcome:
    best: Outcome | None = None
    for branch in branches:
        found = _judged(branch, value, place)
        if not found.problems:
            return found
        if best is None or found.checks > best.checks:
            best = found
    outcome = Outcome()
    fail_unnamed(outcome, place, f"{quote(place.name)} must validate at least one schema (anyOf)")
    if best is not None:
        outcome.merge(best)
    return outcome


def _one(branches: Iterable[Schema], value: Json, place: Place) -> Outcome:
    best: Outcome | None = None
    valid: list[Outcome] = []
    for branch in branches:
        found = _judged(branch, value, place)
        if not found.problems:
            valid.append(found)
        elif not valid and (best is None or found.checks > best.checks):
            best = found
    if len(valid) == 1:
        return valid[0]
    outcome = Outcome()
    more = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    message = f"{quote(place.name)} must validate one and only one schema (oneOf). {more}"
    fail_unnamed(outcome, place, message)
    if best is not None and not valid:
        outcome.merge(best)
    return outcome


def _all(branches: tuple[Schema, ...], value: Json, place: Place) -> Outcome:
    outcome = Outcome()
    valid = 0
    for branch in branches:
        found = _judged(branch, value, place)
        valid += not found.problems
        outcome.merge(found)
    if valid != len(branches):
        more = "" if valid else ". None validated"
        message = f"{quote(place.name)} must validate all the schemas (allOf){more}"
        fail_unnamed(outcome, place, message)
    return outcome
