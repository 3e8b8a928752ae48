"""Values of CEL's expressions as far as formulas know them, and the tests that relations make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from chartkit.addons.satisfy.formula import TRUE, Formula, Place
from chartkit.addons.satisfy.texts import Language
from chartkit.addons.satisfy.values import MISSING, Test, opposite_words
from chartkit.addons.satisfy.wants.comparisons import ORDERS, NotReadError, relation_words
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json, same, text_of


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that the expression has itself."""

    value: Json


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """A field. default: where it is not there, MISSING for none; function: `size` or `quantity`."""

    place: Place
    default: Json = MISSING
    function: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The elements of a list that meet a condition, and what is taken of each."""

    listed: Place
    condition: Callable[[Place], Formula] = lambda _place: TRUE
    element: Callable[[Place], Term] = lambda place: FieldTerm(place)


@dataclass(frozen=True, slots=True)
class ListTerm:
    """Lists one behind the other."""

    parts: tuple[Part, ...]


Term: TypeAlias = Constant | FieldTerm | ListTerm


def of_function(term: Term, name: str) -> Term:
    """Return `size` or `quantity` of a term. Raises NotReadError."""
    if isinstance(term, FieldTerm) and not term.function:
        return replace(term, function=name)
    if isinstance(term, Constant) and name == "quantity":
        return term
    if isinstance(term, ListTerm) and name == "size":
        return term
    raise NotReadError


def relates(left: Json, operator: str, right: Json) -> bool:
    """Report whether a relation of two values is true; one that is an error is not."""
    if operator in ("==", "!="):
        return same(left, right) is (operator == "==")
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return False
    return bool(ORDERS[operator](left, right))


def settled_test(test: Test, subject: FieldTerm, wanted: bool) -> Test:
    """Return a test of a field, or its opposite, that refuses a missing one without a default."""
    default, holds = subject.default, test.holds

    def settled(value: Json) -> bool:
        if value is MISSING or value is None:
            return default is not MISSING and holds(default) is wanted
        return holds(value) is wanted

    languages = test.languages
    if not wanted and languages is not None:
        languages = (
            tuple(replace(language, wanted=False) for language in languages)
            if len(languages) == 1
            else None
        )
    is_open = settled(MISSING)
    probes = (*test.probes, MISSING)
    return replace(
        test,
        wants=test.wants if wanted else opposite_words(test.wants),
        holds=settled,
        probes=probes,
        languages=languages,
        is_closed=test.is_closed and wanted and not is_open,
        is_positive=test.is_positive and wanted and not is_open,
        opposite_of=None,
    )


def comparison_test(subject: FieldTerm, operator: str, value: Json) -> Test:
    """Return the test of a field that a relation compares with a constant."""
    is_size = subject.function == "quantity"

    def holds(current: Json) -> bool:
        if not is_size:
            return relates(current, operator, value)
        size, other = quantity_or_none(text_of(current)), quantity_or_none(str(value))
        if size is None or other is None:
            return False
        if operator in ("==", "!="):
            return (size == other) is (operator == "==")
        return bool(ORDERS[operator](size, other))

    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    ordered = is_size or is_number
    points = (str(value),) if ordered else ()
    probes: tuple[Json, ...] = (value,)
    if operator == "!=":
        probes = (not value,) if isinstance(value, bool) else ()
    elif is_number and operator in (">", "<"):
        probes = (value + (1 if operator == ">" else -1),)
    languages = None
    if isinstance(value, str) and not is_size and operator in ("==", "!="):
        literal = "".join(f"\\{letter}" if not letter.isalnum() else letter for letter in value)
        languages = (Language(f"^{literal}$", True, operator == "=="),)
    test = Test(
        relation_words(operator, value),
        holds,
        probes,
        is_closed=not ordered and (operator == "==" or isinstance(value, bool)),
        is_safe=value is False or operator == "==" or isinstance(value, bool),
        languages=languages,
        order="quantity" if ordered else "",
        points=points,
        is_positive=(ordered and operator != "!=") or operator == "==",
    )
    return settled_test(test, subject, True)
