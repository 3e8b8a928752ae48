"""Conditions (`key`, `operator`, `value`) as tests in CEL: one function an operator's family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible, about
from chartkit.addons.migrate.differences import (
    CONDITION_MESSAGES,
    EMPTY_SEARCHES,
    FAILING_CONDITIONS,
    LISTS_AS_TEXTS,
    LISTS_IN_TEXTS,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import TEXT, TIME
from chartkit.addons.migrate.expressions.presence import cannot_fail
from chartkit.addons.migrate.expressions.verdict import (
    as_bool,
    conjunction,
    disjunction,
    either,
    in_turn,
)
from chartkit.addons.migrate.jmespath import Constant, Names, Stream, Term, Value
from chartkit.addons.migrate.jmespath.lists import is_list
from chartkit.addons.migrate.jmespath.terms import (
    Choice,
    expression_of,
    is_json,
    is_truthy,
    type_of,
)
from chartkit.addons.migrate.matching.facts import blocks_of
from chartkit.addons.migrate.membership import among_values, listed
from chartkit.addons.migrate.operators import Test, durations, equals, ordered
from chartkit.addons.migrate.texts import query_term, term_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Ident, count, functions
from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Blocks,
    Condition,
)
from chartkit.engine.context.variables import OPEN, has_variable
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.go.strconv import mark_literals
from chartkit.model import Json

_NULL: Final = Constant(None)
_ROOT: Final = re.compile(r"(?<![\w.-])[\w-]+")
"""A name in a query that is not a field of something."""
_OTHERS: Final = ("variables", "resource", "image", "http", "globalContext")
"""Names of what an API server, a registry or a service answers, and of variables, which may."""


def conditions_hold(body: Json, names: Names) -> Expr:
    """Report whether conditions hold; raises `NotConvertible`, `ConditionsMalformed`."""
    return _together(blocks_of(body), names, ())


def conditions_met(body: Json, names: Names) -> Expr:
    """Report whether the preconditions of an element hold, which Kyverno passes over where they
    cannot be evaluated; raises `NotConvertible`, `ConditionsMalformed`."""
    parsed = blocks_of(body)
    names = replace(names, failing=frozenset())
    met: Expr = cel.TRUE
    for condition in reversed(_distinct(parsed.all or ())):
        met = conjunction(_evaluable(condition, names), condition_holds(condition, names), met)
    if parsed.any is None:
        return met
    of_one: Expr = cel.FALSE
    for condition in reversed(_distinct(parsed.any)):
        some_hold = disjunction(condition_holds(condition, names), of_one)
        of_one = conjunction(_evaluable(condition, names), some_hold)
    return conjunction(of_one, met)


def _evaluable(condition: Condition, names: Names) -> Expr:
    """Report whether the fields and variables that a condition names are there."""
    terms = (term_of(side, names) for side in (condition.key, condition.value))
    needed: list[Term] = [term for term in terms if isinstance(term, Value) and term.strict]
    queries = [row.query for row in find_variables(f"{condition.key} {condition.value}")]
    if _may_fail(condition, names):
        # A function of what is not there has no result.
        needed += [query_term(query, names, strict=False) for query in queries if "(" in query]
    asked = frozenset(_ROOT.findall(" ".join(queries)))
    needed += [term for name, term in names.loose.items() if name in asked]
    present = (
        term.presence if isinstance(term, Stream) else term.place.is_present()
        for term in needed
        if isinstance(term, Stream | Value)
    )
    return conjunction(*dict.fromkeys(present))


def blocks_hold(blocks: Blocks, names: Names, preceding: Iterable[Condition] = ()) -> Expr:
    """Report whether blocks of conditions hold, as a bool: one of `any`, and all of `all`.

    preceding: those of them before a condition that has been taken out. They decide whether a rule
    applies, which no message mentions.
    """
    if any(condition.message for condition in (*(blocks.any or ()), *(blocks.all or ()))):
        names.note(CONDITION_MESSAGES)
    return as_bool(_together(blocks, names, preceding))


def _together(blocks: Blocks, names: Names, preceding: Iterable[Condition]) -> Expr:
    any_of, every = _distinct(blocks.any or ()), _distinct(blocks.all or ())
    if any(_may_fail(condition, names) for condition in preceding):
        names.note(FAILING_CONDITIONS)
    together = _in_order(every, names, True)
    if blocks.any is None:
        return together
    if any(_may_fail(condition, names) for condition in every):
        # Kyverno evaluates these even where none of the others holds.
        names.note(FAILING_CONDITIONS)
    of_one = _in_order(any_of, names, False)
    if any(_may_fail(condition, names) for condition in any_of) and every:
        return cel.conditional(of_one, together, cel.FALSE)
    return conjunction(of_one, together)


def _in_order(conditions: Sequence[Condition], names: Names, every: bool) -> Expr:
    """Report whether conditions hold, every one or any."""
    tests = [(condition_holds(entry, names), _may_fail(entry, names)) for entry in conditions]
    return in_turn(tests, every=every)


def may_fail(body: Json, names: Names) -> bool:
    """Report whether one of several conditions is an error where what it names is not there."""
    parsed = blocks_of(body)
    return any(_may_fail(part, names) for part in (*(parsed.any or ()), *(parsed.all or ())))


def _distinct(conditions: Iterable[Condition]) -> list[Condition]:
    """Return conditions once each: a YAML alias may repeat them."""
    return list({(row.identity, row.message): row for row in conditions}.values())


def _may_fail(condition: Condition, names: Names) -> bool:
    """Report whether a condition is an error where what it names is not there."""
    terms = (term_of(side, names) for side in (condition.key, condition.value))
    return any(is_error(term, names) for term in terms)


def is_error(term: Term, names: Names) -> bool:
    """Report whether a term may be an error, as a field or an answer of others is missing."""
    match term:
        case Value(place, strict, fails):
            expression = place.value
            if fails or (strict and (place.is_optional or not cannot_fail(place.root))):
                return True
        case Stream():
            expression = term.list()
        case Choice(_, first, second):
            return is_error(first, names) or is_error(second, names)
        case _:
            return False
    certain = sum(count(expression, cel.variable(name)) for name in names.certain)
    asked = sum(count(expression, Ident(name)) for name in {*_OTHERS, *names.others})
    return asked > certain


def condition_holds(condition: Condition, names: Names) -> Expr:
    """Report whether a condition holds; raises `NotConvertible`."""
    test = _OPERATORS.get(condition.operator)
    if test is None:
        raise NotConvertible(f"the operator {condition.operator or '(none)'} has no form in CEL")
    with about(next(filter(has_variable, map(str, (condition.key, condition.value))), "")):
        key = _as_text(term_of(condition.key, names))
        value = _as_text(term_of(condition.value, replace(names, taken=names.taken | _loops(key))))
        held = _held(condition.operator, test, key, value)
    if _loops(key) and _reads_failing(value, names):
        # A value that fails is an error, also where there is no key to look for.
        is_there = cel.compare(">=", cel.method(expression_of(value), "size"), 0)
        held = cel.conditional(is_there, held, cel.FALSE)
    is_open = isinstance(key, Value) and not key.strict and key.place.is_optional
    reads_others = isinstance(value, Value) and any(
        count(value.place.value, Ident(name)) for name in _OTHERS
    )
    if is_open and reads_others:
        names.note(FAILING_CONDITIONS)
    if isinstance(value, Constant) and str(value.value).startswith("[") and type_of(value) == TEXT:
        names.note(LISTS_AS_TEXTS)
    if isinstance(value, Stream) and str(condition.value).count(OPEN) > 1:
        names.note(EMPTY_SEARCHES)
    if "unmarshal" in functions(held):
        names.note(LISTS_IN_TEXTS)
    return held


def _reads_failing(term: Term, names: Names) -> bool:
    """Report whether a list or a text is read of a variable that may fail."""
    if not isinstance(term, Value) or not (term.place.is_list or term.place.type == TEXT):
        return False
    return any(count(term.place.value, cel.variable(name)) for name in names.failing)


def _loops(key: Term) -> frozenset[str]:
    """Return the variables of the loops in which a key is compared with values."""
    match key:
        case Stream():
            return frozenset(generator.variable for generator in key.generators)
        case Choice(_, first, second):
            return _loops(first) | _loops(second)
    return frozenset(("item",)) if is_list(key) else frozenset()


def _held(operator: str, test: Test, key: Term, value: Term) -> Expr:
    """Report whether an operator holds of a key and a value."""
    if isinstance(key, Choice):
        first, second = (_held(operator, test, part, value) for part in (key.first, key.second))
        of_lists = operator.endswith("In") and is_list(key.first)
        if of_lists and key.holds == is_truthy(key.first):
            # What it says of an empty list.
            of_empty = cel.literal(operator in _OF_ALL)
            return first if second == of_empty else either(key.holds, first, second)
        return either(key.holds, first, second)
    if isinstance(value, Choice):
        return value.of_each(lambda element: _held(operator, test, key, element))
    if isinstance(key, Constant) and isinstance(value, Constant):
        # It says nothing of the request.
        if not is_json(key.value) or not is_json(value.value):
            raise NotConvertible("the request as a whole")
        compare = OPERATORS[operator](mark_literals(value.value))
        return cel.literal(bool(compare(mark_literals(key.value))))
    if key == _NULL:
        # No operator holds of null.
        return cel.FALSE
    if isinstance(key, Value) and key.place.is_optional and not key.strict:
        held = _held(operator, test, Value(key.place.settled()), value)
        return conjunction(key.place.is_present(), held)
    if isinstance(key, Stream) and key.presence != cel.TRUE:
        always = replace(key, presence=cel.TRUE)
        return conjunction(key.presence, _held(operator, test, always, value))
    if isinstance(value, Value) and value.place.is_optional and not value.strict:
        held = _held(operator, test, key, Value(value.place.settled()))
        return either(value.place.is_present(), held, _held(operator, test, key, _NULL))
    if isinstance(value, Stream) and value.presence != cel.TRUE:
        held = _held(operator, test, key, replace(value, presence=cel.TRUE))
        return either(value.presence, held, _held(operator, test, key, _NULL))
    if value == _NULL:
        return cel.literal(operator in ("NotEqual", "NotEquals"))
    return test(key, value)


def _as_text(term: Term) -> Term:
    """Return a time as the text that conditions compare."""
    match term:
        case Value(place, strict) if place.type == TIME:
            written = cel.call("string", place.settled().value)
            return Value(replace(place, root=written, optional=(), type=TEXT), strict)
    return term


def _not_equals(key: Term, value: Term) -> Expr:
    return cel.negate(equals(key, value))


_OF_ALL: Final = ("AllIn", "AllNotIn", "In")
"""Operators that hold of an empty list."""
_OPERATORS: Final[Mapping[str, Test]] = {
    "Equal": equals,
    "Equals": equals,
    "NotEqual": _not_equals,
    "NotEquals": _not_equals,
    "In": listed(among_values(every=True, negated=False)),
    "NotIn": listed(among_values(every=False, negated=True), negated=True),
    "AnyIn": among_values(every=False, negated=False),
    "AllIn": among_values(every=True, negated=False),
    "AnyNotIn": among_values(every=False, negated=True),
    "AllNotIn": among_values(every=True, negated=True),
    "GreaterThan": ordered(">"),
    "GreaterThanOrEquals": ordered(">="),
    "LessThan": ordered("<"),
    "LessThanOrEquals": ordered("<="),
    "DurationGreaterThan": durations(">"),
    "DurationGreaterThanOrEquals": durations(">="),
    "DurationLessThan": durations("<"),
    "DurationLessThanOrEquals": durations("<="),
}
"""By operator: the test of a key and a value."""
