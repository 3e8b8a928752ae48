"""Values judged by a structural schema: types, limits and formats, by jsonschema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from jsonschema import Draft4Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import create

from chartkit.go import GoError
from chartkit.go.fmt import format_float, go_json
from chartkit.go.regexp import compile_regex
from chartkit.go.strconv import quote
from chartkit.model import Body, FieldPath, Json
from chartkit.scan.custom_resources.formats import TESTS
from chartkit.scan.custom_resources.schema import LIMITS_OF_SIZE, Schema

_NO_FIELD: Final = "<nil>"
_WORK: ContextVar[Work] = ContextVar("work")
"""The work that is left for the object that is judged."""
_ERROR: Final = 20
"""The work of an error, in values."""
_EPSILON: Final = 1e-9
_LARGEST: Final = float(1 << 53)
_LARGEST_FLOAT32: Final = 3.4028235677973366e38
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_TYPE_NAMES: Final[Mapping[type, tuple[str, str]]] = {
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    str: ("string", ""),
    list: ("array", ""),
    dict: ("object", ""),
}
_RANGE: Final = "range"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_SIZES: Final[Mapping[str, str]] = {
    "minLength": "should be at least {} chars long",
    "minItems": "should have at least {} items",
    "minProperties": "should have at least {} properties",
}
_BRANCHES: Final[Mapping[str, str]] = {
    "anyOf": "must validate at least one schema (anyOf)",
    "oneOf": "must validate one and only one schema (oneOf)",
    "not": "must not validate the schema (not)",
}


class Reason(StrEnum):
    """The type of an error, as its text begins."""

    INVALID = "Invalid value"
    TYPE = "Invalid value "
    REQUIRED = "Required value"
    UNSUPPORTED = "Unsupported value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    TOO_LONG = "Too long"
    TOO_MANY = "Too many"


_BLOCKING: Final = frozenset(
    {Reason.UNSUPPORTED, Reason.REQUIRED, Reason.TOO_LONG, Reason.TOO_MANY, Reason.TYPE}
)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error. path: of the field, also where the text names none; text: as an API server words
    it; reason: its type."""

    path: FieldPath
    text: str
    reason: Reason

    @property
    def is_blocking(self) -> bool:
        """Report whether rules in CEL are not evaluated for an object with it."""
        return self.reason in _BLOCKING


class TooMuchWork(Exception):  # noqa: N818 - no fault of the object that is judged
    """An object has more values, or more errors, than are looked at."""


@dataclass(slots=True)
class Work:
    """The work that is left for one object: values to look at, and characters of errors."""

    left: int = 1_000_000

    def spend(self, amount: int = 1) -> None:
        """Count work; raise TooMuchWork."""
        self.left -= amount
        if self.left < 0:
            raise TooMuchWork


class Omitted:
    """The value of an error that does not show it."""


OMITTED: Final = Omitted()


def problem(
    path: FieldPath, name: str, reason: Reason, detail: str = "", value: Json | Omitted = OMITTED
) -> Problem:
    """An error; name: of the field in the text, empty for none; value: shown after the reason."""
    text = f"{name or _NO_FIELD}: {reason.strip()}"
    if not isinstance(value, Omitted):
        text += f": {shown(value)}"
    return Problem(path, f"{text}: {detail}" if detail else text, reason)


def shown(value: Json) -> str:
    """Return a value as an error shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return format_float(value)
    return str(value) if isinstance(value, int) else go_json(value)


def field_name(path: FieldPath, keys: frozenset[int] = frozenset()) -> str:
    """Return the name of a field: `spec.hosts[0].tls[key]`; keys: the positions of steps that are
    keys of a map, not fields."""
    text = ""
    for at, step in enumerate(path):
        if isinstance(step, int) or at in keys:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


_Errors = Iterator[ValidationError]
_Keyword = Callable[[Any, Any, Any, Any], _Errors]


def value_problems(schema: Schema, body: Body) -> list[Problem]:
    """Return the errors of an object; raise TooMuchWork."""
    token = _WORK.set(Work())
    problems: dict[Problem, None] = {}
    try:
        for error in _VALIDATOR(schema.body).iter_errors(body):
            # Of alternatives, the error is shown that is most likely meant.
            for cause in (error, best_match([error])) if error.context else (error,):
                problems.setdefault(_problem(cause))
    except RecursionError:
        raise TooMuchWork from None
    finally:
        _WORK.reset(token)
    return list(problems)


def _types(schema: Body) -> tuple[str, ...]:
    if schema.get(_INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _known_format(schema: Body) -> str:
    """Return the format of a schema, empty where API servers do not know it."""
    given, types = schema.get("format") or "", _types(schema)
    if types == ("integer",):
        return given if given in ("int32", "int64") else ""
    if types == ("number",):
        return given if given in ("float", "double") else ""
    if types in ((), ("string",)):
        return given if given.replace("-", "") in TESTS else ""
    return ""


def _type(_validator: Any, _keyword: Any, value: Json, schema: Body) -> _Errors:
    types, expected = _types(schema), _known_format(schema)
    if value is None:
        if types and not schema.get("nullable"):
            yield ValidationError(_wrong_type(",".join(types), "null"))
        return
    name, kind_format = _TYPE_NAMES[type(value)]
    fits = (
        name in types
        or (name == "number" and "integer" in types and _is_whole(value))
        or (name == "integer" and "number" in types)
    )
    is_sequence = name in ("string", "array")
    if not is_sequence and expected and not (fits or kind_format == expected):
        yield ValidationError(_wrong_type(expected, kind_format))
    elif is_sequence and expected and "integer" not in types and "number" not in types:
        return
    elif types and not fits:
        yield ValidationError(_wrong_type(",".join(types), name))
    if _is_number(value) and (message := _range_fault(value, schema)):
        yield ValidationError(message, validator=_RANGE)


def _wrong_type(expected: str, value: str) -> str:
    return f"must be of type {expected}: {quote(value)}"


def _is_whole(number: float) -> bool:
    """Report whether a number counts as an integer: the error of a float64 does not matter."""
    if not math.isfinite(number) or abs(number) > _LARGEST:
        return False
    nearest = math.trunc(number)
    if number == nearest:
        return True
    return abs(number - nearest) / (abs(number) + abs(nearest)) < _EPSILON


def _range_fault(value: float, schema: Body) -> str:
    """Return the reason why a number does not fit its type or format; empty if it does."""
    form = _known_format(schema)
    if _types(schema) == ("integer",):
        least, most = _RANGES.get(form, _RANGES["int64"])
        is_whole = isinstance(value, int) or value.is_integer()
        if not is_whole or not least <= value <= most:
            which = f"with format {form}" if form else "(default format)"
            return f"Checked value must be of type integer {which}"
    if form == "float" and abs(value) > _LARGEST_FLOAT32:
        return "Checked value must be of type number with format float"
    return ""


def _format(_validator: Any, _keyword: Any, value: Json, schema: Body) -> _Errors:
    form = _known_format(schema)
    test = TESTS.get(form.replace("-", "")) if form else None
    if isinstance(value, str) and test is not None and not test(value):
        yield ValidationError(f"must be of type {form}: {quote(value)}")


def _pattern(_validator: Any, pattern: str, value: Json, _schema: Body) -> _Errors:
    if not isinstance(value, str) or not pattern:
        return
    try:
        if not compile_regex(pattern).matches(value):
            yield ValidationError(f"should match '{pattern}'")
    except GoError as error:
        yield ValidationError(f"should match '{pattern}, but pattern is invalid: {error}'")


def _limit(sign: int, exclusive: str, words: str) -> _Keyword:
    def check(_validator: Any, limit: float, value: Json, schema: Body) -> _Errors:
        if not _is_number(value):
            return
        edge = math.trunc(limit) if isinstance(value, int) else float(limit)
        beyond = (value - edge) * sign
        if beyond > 0 or (schema.get(exclusive) and beyond == 0):
            edge_words = words if schema.get(exclusive) else f"{words} or equal to"
            yield ValidationError(f"should be {edge_words} {_figure(edge)}")

    return check


def _multiple_of(_validator: Any, factor: float, value: Json, _schema: Body) -> _Errors:
    if not _is_number(value):
        return
    unit = math.trunc(factor) if isinstance(value, int) else float(factor)
    if unit <= 0:
        is_multiple = False
    elif isinstance(value, int):
        is_multiple = value % unit == 0
    else:
        is_multiple = _is_whole(1 / unit * value if unit < 1 else value / unit)
    if not is_multiple:
        yield ValidationError(f"should be a multiple of {_figure(unit)}")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _figure(number: float) -> str:
    return str(number) if isinstance(number, int) else format_float(number)


def _enum(validator: Any, allowed: list[Json], value: Json, schema: Body) -> _Errors:
    if allowed and (value is None or any(_own("enum")(validator, allowed, value, schema))):
        listed = [item if isinstance(item, str) else shown(item) for item in allowed]
        yield ValidationError(f"supported values: {', '.join(map(quote, listed))}")


def _required(_validator: Any, names: list[str], value: Json, _schema: Body) -> _Errors:
    for name in names if isinstance(value, dict) else ():
        if name not in value:
            yield ValidationError("is required", path=[name])


def _additional(validator: Any, schema: Body | bool, value: Json, owner: Body) -> _Errors:
    for name in value if isinstance(value, dict) else ():
        if name in (owner.get("properties") or ()):
            continue
        if isinstance(schema, dict):
            yield from validator.descend(value[name], schema, path=name)
        elif not schema:
            yield ValidationError("is a forbidden property", path=[name])


def _own(keyword: str) -> _Keyword:
    """Return jsonschema's check of a keyword."""
    check: _Keyword = Draft4Validator.VALIDATORS[keyword]
    return check


def _unless_null(keyword: str) -> _Keyword:
    check = _own(keyword)

    def run(validator: Any, branches: Any, value: Json, schema: Body) -> _Errors:
        is_judged = value is not None and branches != []
        return check(validator, branches, value, schema) if is_judged else iter(())

    return run


def _counted(check: _Keyword) -> _Keyword:
    def run(validator: Any, keyword: Any, value: Json, schema: Body) -> _Errors:
        work = _WORK.get()
        work.spend()
        # A keyword that is null is not there.
        for error in () if keyword is None else check(validator, keyword, value, schema):
            work.spend(_ERROR)
            yield error

    return run


_KEYWORDS: Final[Mapping[str, _Keyword]] = {
    "type": _type,
    _INT_OR_STRING: _type,
    "format": _format,
    "pattern": _pattern,
    "enum": _enum,
    "required": _required,
    "maximum": _limit(1, "exclusiveMaximum", "less than"),
    "minimum": _limit(-1, "exclusiveMinimum", "greater than"),
    "multipleOf": _multiple_of,
    **{key: _unless_null(key) for key in ("allOf", "anyOf", "oneOf", "not")},
    **{key: _own(key) for key in ("properties", "items")},
    "additionalProperties": _additional,
    **{key: _own(key) for key in LIMITS_OF_SIZE},
}
_VALIDATOR: Final = create(
    {}, {key: _counted(check) for key, check in _KEYWORDS.items()}, id_of=lambda _schema: ""
)
_REASONS: Final[Mapping[str, Reason]] = {
    **dict.fromkeys(("type", _INT_OR_STRING, "format"), Reason.TYPE),
    **dict.fromkeys(("maxItems", "maxProperties"), Reason.TOO_MANY),
    "enum": Reason.UNSUPPORTED,
    "maxLength": Reason.TOO_LONG,
    "required": Reason.REQUIRED,
}


def _problem(error: ValidationError) -> Problem:
    """Return an error in the words of an API server, but for what it says of alternatives."""
    path: FieldPath = tuple(error.absolute_path)
    keyword, bound = str(error.validator), error.validator_value
    value: Any = error.instance
    name, reason = field_name(path), _REASONS.get(keyword, Reason.INVALID)
    if keyword == _RANGE:
        return problem(path, "", reason, f"{error.message} in {name}", "")
    if keyword in _BRANCHES:
        return problem(path, "", reason, f"{quote(name)} {_BRANCHES[keyword]}", "")
    if keyword == "required":
        return problem(path, name, reason)
    if keyword == "enum":
        return problem(path, name, reason, error.message, value)
    if keyword == "maxLength":
        detail = f"may not be more than {bound} {'byte' if bound == 1 else 'bytes'}"
        return problem(path, name, reason, detail)
    if reason is Reason.TOO_MANY:
        detail = f"must have at most {bound} item{'' if bound == 1 else 's'}"
        return problem(path, name, reason, detail, len(value))
    if keyword in _SIZES:
        size = value if isinstance(value, str) else len(value)
        detail = f"{name} in body {_SIZES[keyword].format(bound)}"
        return problem(path, name, reason, detail, size)
    shown_value = value
    if keyword in ("type", _INT_OR_STRING):
        shown_value = error.message.rpartition(": ")[2].strip('"')
    return problem(path, name, reason, f"{name} in body {error.message}", shown_value)
