"""Conditions (`key`, `operator`, `value`) as tests in CEL: one function an operator's family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from chartkit.addons.migrate.conversion import NotConvertible, about
from chartkit.addons.migrate.differences import (
    CONDITION_MESSAGES,
    EMPTY_SEARCHES,
    FAILING_CONDITIONS,
    LISTS_AS_TEXTS,
    LISTS_IN_TEXTS,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    INT_OR_TEXT,
    QUANTITY,
    TEXT,
    TIME,
    UNKNOWN,
    Place,
)
from chartkit.addons.migrate.expressions.presence import cannot_fail, fits, fits_value
from chartkit.addons.migrate.expressions.verdict import (
    as_bool,
    conjunction,
    disjunction,
    either,
)
from chartkit.addons.migrate.jmespath import Constant, Names, Stream, Term, Value
from chartkit.addons.migrate.jmespath.terms import (
    Choice,
    expression_of,
    is_json,
    is_truthy,
    type_of,
)
from chartkit.addons.migrate.operators import (
    as_text,
    durations,
    equals,
    equals_constant,
    in_text,
    is_one_of,
    listed_in,
    natural,
    or_everything,
    ordered,
    whole_number,
)
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import (
    Call,
    Ident,
    ListLiteral,
    Literal,
    children,
    count,
)
from chartkit.engine.cluster_policy.conditions.operators import sprint
from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Blocks,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.engine.context.variables import OPEN, has_variable
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.go.strconv import mark_literals
from chartkit.model import Json

Test = Callable[[Term, Term], Expr]
_NULL: Final = Constant(None)
_OTHERS: Final = ("variables", "resource", "image", "http", "globalContext")
"""Names of what an API server, a registry or a service answers, and of variables, which may."""


def conditions_hold(body: Json, names: Names) -> Expr:
    """Report whether conditions hold; raises `NotConvertible`, `ConditionsMalformed`."""
    parsed = parse_conditions(body)
    if isinstance(parsed, FlatList):
        parsed = Blocks(None, parsed.conditions)
    return _together(parsed, names, ())


def conditions_met(body: Json, names: Names) -> Expr:
    """Report whether the preconditions of an element hold, which Kyverno passes over where they
    cannot be evaluated; raises `NotConvertible`, `ConditionsMalformed`."""
    parsed = parse_conditions(body)
    if isinstance(parsed, FlatList):
        parsed = Blocks(None, parsed.conditions)
    met: Expr = cel.TRUE
    for condition in reversed(_distinct(parsed.all or ())):
        met = conjunction(_evaluable(condition, names), condition_holds(condition, names), met)
    if parsed.any is None:
        return met
    of_one: Expr = cel.FALSE
    for condition in reversed(_distinct(parsed.any)):
        one = disjunction(condition_holds(condition, names), of_one)
        of_one = conjunction(_evaluable(condition, names), one)
    return conjunction(of_one, met)


def _evaluable(condition: Condition, names: Names) -> Expr:
    """Report whether the fields that a condition names are there."""
    terms = (term_of(side, names) for side in (condition.key, condition.value))
    places = [term.place for term in terms if isinstance(term, Value) and term.strict]
    return conjunction(*(place.is_present() for place in places))


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
    """Report whether conditions hold, every one or any, of which the first that decides ends the
    search: what may fail stands in a conditional, for && and || hide errors."""
    rest = cel.literal(every)
    for at, condition in enumerate(reversed(conditions)):
        held = condition_holds(condition, names)
        if not at or not _may_fail(condition, names) or held in (cel.TRUE, cel.FALSE):
            rest = conjunction(held, rest) if every else disjunction(held, rest)
        elif every:
            rest = cel.conditional(held, rest, cel.FALSE)
        else:
            rest = cel.conditional(held, cel.TRUE, rest)
    return rest


def may_fail(body: Json, names: Names) -> bool:
    """Report whether one of several conditions is an error where what it names is not there."""
    parsed = parse_conditions(body)
    if isinstance(parsed, FlatList):
        return any(_may_fail(condition, names) for condition in parsed.conditions)
    return any(_may_fail(part, names) for part in (*(parsed.any or ()), *(parsed.all or ())))


def _distinct(conditions: Iterable[Condition]) -> list[Condition]:
    """Return conditions without those that a YAML alias repeats."""
    return list({(each.identity, each.message): each for each in conditions}.values())


def _may_fail(condition: Condition, names: Names) -> bool:
    """Report whether a condition is an error where what it names is not there."""
    terms = (term_of(side, names) for side in (condition.key, condition.value))
    return any(is_error(term, names) for term in terms)


def is_error(term: Term, names: Names) -> bool:
    """Report whether a term may be an error, as a field or an answer of others is missing."""
    match term:
        case Value(place, strict):
            expression = place.value
            if strict and (place.is_optional or not cannot_fail(place.root)):
                return True
        case Stream():
            expression = term.list()
        case Choice(_, first, second):
            return is_error(first, names) or is_error(second, names)
        case _:
            return False
    return any(count(expression, Ident(name)) for name in (*_OTHERS, *names.others))


def condition_holds(condition: Condition, names: Names) -> Expr:
    """Report whether a condition holds; raises `NotConvertible`."""
    test = _OPERATORS.get(condition.operator)
    if test is None:
        raise NotConvertible(f"the operator {condition.operator or '(none)'} has no form in CEL")
    with about(next(filter(has_variable, map(str, (condition.key, condition.value))), "")):
        key = _as_text(term_of(condition.key, names))
        value = _as_text(term_of(condition.value, replace(names, taken=names.taken | _loops(key))))
        held = _held(condition.operator, test, key, value)
    is_open = isinstance(key, Value) and not key.strict and key.place.is_optional
    if is_open and is_error(value, names):
        names.note(FAILING_CONDITIONS)
    if isinstance(value, Constant) and str(value.value).startswith("[") and type_of(value) == TEXT:
        names.note(LISTS_AS_TEXTS)
    if isinstance(value, Stream) and str(condition.value).count(OPEN) > 1:
        names.note(EMPTY_SEARCHES)
    if _reads_json(held):
        names.note(LISTS_IN_TEXTS)
    return held


def _reads_json(expr: Expr) -> bool:
    """Report whether an expression reads a text as JSON."""
    is_read = isinstance(expr, Call) and expr.function == "unmarshal"
    return is_read or any(map(_reads_json, children(expr)))


def _loops(key: Term) -> frozenset[str]:
    """Return the variables of the loops in which a key is compared with values."""
    match key:
        case Stream():
            return frozenset(generator.variable for generator in key.generators)
        case Choice(_, first, second):
            return _loops(first) | _loops(second)
    return frozenset(("item",)) if _is_list(key) else frozenset()


def _held(operator: str, test: Test, key: Term, value: Term) -> Expr:
    """Report whether an operator holds of a key and a value."""
    if isinstance(key, Choice):
        first, second = (_held(operator, test, part, value) for part in (key.first, key.second))
        of_lists = operator.endswith("In") and _is_list(key.first)
        if of_lists and key.holds == is_truthy(key.first):
            # What it says of an empty list.
            of_empty = cel.literal(operator in _OF_ALL)
            return first if second == of_empty else either(key.holds, first, second)
        return either(key.holds, first, second)
    if isinstance(value, Choice):
        return value.of_each(lambda element: _held(operator, test, key, element))
    if isinstance(key, Constant) and isinstance(value, Constant):
        return _of_constants(operator, key.value, value.value)
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


def _is_list(term: Term) -> bool:
    return isinstance(term, Stream) or (isinstance(term, Value) and term.place.is_list)


def _as_text(term: Term) -> Term:
    """Return a time as the text that conditions compare."""
    match term:
        case Value(place, strict) if place.type == TIME:
            written = cel.call("string", place.settled().value)
            return Value(replace(place, root=written, optional=(), type=TEXT), strict)
    return term


def _of_constants(operator: str, key: Json, value: Json) -> Expr:
    """Report whether a condition holds that says nothing of the request."""
    if not is_json(key) or not is_json(value):
        raise NotConvertible("the request as a whole")
    compare = OPERATORS[operator](mark_literals(value))
    return cel.literal(bool(compare(mark_literals(key))))


def _not_equals(key: Term, value: Term) -> Expr:
    return cel.negate(equals(key, value))


def _among(values: Sequence[Json]) -> Callable[[Place], Expr]:
    """Return the test whether a value is one of several constants, as texts with wildcards."""

    def test(place: Place) -> Expr:
        if not place.is_known:
            types = {natural(value) for value in values}
            if len(types) > 1:
                raise NotConvertible("a value of unknown type is looked for among several types")
            place = place.taken_for(types.pop() if types else TEXT)
        if place.type == "int":
            numbers = [number for value in values if (number := whole_number(value)) is not None]
            wild = [value for value in values if isinstance(value, str) and has_wildcard(value)]
            if len(numbers) == 1:
                is_number = cel.equal(place.value, numbers[0])
            else:
                is_number = (
                    cel.contains(cel.list_of(numbers), place.value) if numbers else cel.FALSE
                )
            return disjunction(is_number, *(fits(as_text(place), text) for text in wild))
        if place.type == "bool":
            matching = [compile_wildcard(sprint(value)) for value in values]
            words = [word for word in (True, False) if any(fit(sprint(word)) for fit in matching)]
            return disjunction(
                *(place.value if word else cel.negate(place.value) for word in words)
            )
        texts = [sprint(value) for value in values]
        if place.type in (QUANTITY, INT_OR_TEXT):
            return is_one_of(replace(place, root=as_text(place), optional=(), type=TEXT), texts)
        if place.type not in (TEXT, UNKNOWN):
            raise NotConvertible("an object or a list is looked for in a list")
        return or_everything(place, is_one_of(place, texts))

    return test


def _range(text: str) -> Callable[[Place], Expr] | None:
    low, dash, high = text.partition("-")
    if not (dash and low.isdigit() and high.isdigit()):
        return None

    def test(place: Place) -> Expr:
        if place.type not in ("int", "double"):
            raise NotConvertible("a range is compared with a value that is not a number")
        least, most = (float(end) if place.type == "double" else int(end) for end in (low, high))
        return conjunction(
            cel.compare(">=", place.value, least), cel.compare("<=", place.value, most)
        )

    return test


def _member(value: Term) -> Callable[[Place], Expr]:
    """Return the test whether a value is among those of a condition."""
    match value:
        case Constant(list() as values):
            return _among(values)
        case Constant(str() as text):
            return _range(text) or _among(listed_in(text))
        case Constant():
            raise NotConvertible("the values of a condition are not a list")
        case Stream():
            return lambda place: value.exists(lambda item: fits_value(place.value, item.value))
        case Value(Place(ListLiteral(elements), ()) as list_):
            return _written(list_, elements)
        case Value(list_) if list_.type == f"[]{TEXT}":
            return lambda place: cel.contains(list_.value, _text(place))
        case Value(list_) if list_.is_list or not (list_.is_known or list_.path):
            # What is read of a text is taken for a list.
            return lambda place: cel.contains(list_.value, place.value)
        case Value(single) if single.type == TEXT:
            return lambda place: in_text(single, _text(place))
    raise NotConvertible("the values of a condition have a type that is not known")


def _text(place: Place) -> Expr:
    """Return a value that is a text; raises `NotConvertible`."""
    place = place.taken_for(TEXT)
    if place.type != TEXT:
        raise NotConvertible("a value that is not a string is looked for among strings")
    return place.value


def _written(list_: Place, elements: Sequence[Expr]) -> Callable[[Place], Expr]:
    """Return the test whether a value is among constants, and values that are computed."""
    bare = [element.args[0] if _is_dyn(element) else element for element in elements]
    constants = [element.value for element in bare if isinstance(element, Literal)]
    plain = all(isinstance(constant, str) and not has_wildcard(constant) for constant in constants)
    others = [
        element for element, one in zip(elements, bare, strict=True) if not isinstance(one, Literal)
    ]

    def test(place: Place) -> Expr:
        if plain:
            return cel.contains(list_.value, _text(place))
        among = cel.contains(cel.list_of(others), _text(place)) if others else cel.FALSE
        return disjunction(_among(constants)(place), among)

    return test


def _is_dyn(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.function == "dyn" and len(expr.args) == 1


def _constant_in(value: Term) -> Callable[[Json], Expr]:
    """Return the test whether a constant is among values that are not."""

    def test(constant: Json) -> Expr:
        if not isinstance(constant, str | bool):
            raise NotConvertible("a number is looked for in a list")
        match value:
            case Stream() if has_wildcard(str(constant)):
                return value.exists(lambda item: fits(item.value, str(constant)))
            case Stream() if value.is_keys:
                # The keys of an object.
                return value.generators[0].elements.child(str(constant)).is_present()
            case Stream():
                return value.exists(
                    lambda item: or_everything(item, equals_constant(item, constant))
                )
            case Value(place) if place.type == "[]string" and has_wildcard(str(constant)):
                test = fits(cel.ident("item"), str(constant))
                return cel.macro(place.value, "exists", "item", test)
            case Value(place) if has_wildcard(str(constant)):
                raise NotConvertible(f"a wildcard is looked for in {place.type}")
            case Value(place) if place.is_list:
                return cel.contains(place.value, constant)
            case Value(place) if place.type == TEXT:
                return in_text(place, constant)
        raise NotConvertible("the values of a condition have a type that is not known")

    return test


def _in(*, every: bool, negated: bool) -> Test:
    """Return the test of a family's operator: for keys that are lists, whether of every or of any
    key; negated: that they are not among the values."""

    def test(key: Term, value: Term) -> Expr:
        match key:
            case Constant(list() as keys):
                member = _constant_in(value)
                tests = [cel.negate(member(k)) if negated else member(k) for k in keys]
                return conjunction(*tests) if every else disjunction(*tests)
            case Constant(scalar):
                is_in = _constant_in(value)(scalar)
                return cel.negate(is_in) if negated else is_in
            case Value(place) if place.is_list:
                type_, path = place.type.removeprefix("[]"), f"{place.path}[]"
                inner = _member(value)(Place(cel.ident("item"), (), type_, path))
                body = cel.negate(inner) if negated else inner
                if body == cel.TRUE and not every:
                    return cel.compare(">", cel.method(place.value, "size"), 0)
                return cel.macro(place.value, "all" if every else "exists", "item", body)
            case Value(place) if place.is_map:
                # Objects are not keys.
                return cel.FALSE
            case Value(place):
                inner = _member(value)(place)
                return cel.negate(inner) if negated else inner
            case Stream():
                member_of = _member(value)

                def judge(item: Place) -> Expr:
                    return cel.negate(member_of(item)) if negated else member_of(item)

                return key.all(judge) if every else key.exists(judge)
        raise NotConvertible("a key whose type is not known")

    return test


def _listed(test: Test, *, negated: bool = False) -> Test:
    """Return the test of an old operator, which takes a list of values or a text for one."""

    def checked(key: Term, value: Term) -> Expr:
        if type_of(value) == TEXT and type_of(key) == TEXT:
            return _in_text_alone(test, key, value, negated=negated)
        is_text = isinstance(value, Value) and not value.place.is_list
        if is_text or (isinstance(value, Constant) and not isinstance(value.value, list)):
            raise NotConvertible("In and NotIn with a value that is not a list")
        if _is_list(key) and isinstance(value, Constant):
            if type_of(key) != f"[]{TEXT}":
                raise NotConvertible("In and NotIn of a list of values that might not be strings")
            if not all(isinstance(item, str) for item in value.value):
                return cel.FALSE
            if any(map(has_wildcard, value.value)):
                raise NotConvertible("In and NotIn of a list and texts with wildcards")
        return test(key, value)

    return checked


def _in_text_alone(test: Test, key: Term, value: Term, *, negated: bool) -> Expr:
    """Report whether a text is in another, which may be a list in JSON: NotIn holds of no other."""
    if not negated:
        return test(key, value)
    if isinstance(value, Constant):
        return test(key, value) if str(value.value).startswith("[") else cel.FALSE
    if not isinstance(value, Value):
        raise NotConvertible("In and NotIn with a value that is not a list")
    is_list = cel.method(value.place.value, "startsWith", "[")
    listed = cel.method(cel.ident("json"), "unmarshal", value.place.value)
    return conjunction(is_list, cel.negate(cel.contains(listed, expression_of(key))))


_OF_ALL: Final = ("AllIn", "AllNotIn", "In")
"""Operators that hold of an empty list."""
_OPERATORS: Final[Mapping[str, Test]] = {
    "Equal": equals,
    "Equals": equals,
    "NotEqual": _not_equals,
    "NotEquals": _not_equals,
    "In": _listed(_in(every=True, negated=False)),
    "NotIn": _listed(_in(every=False, negated=True), negated=True),
    "AnyIn": _in(every=False, negated=False),
    "AllIn": _in(every=True, negated=False),
    "AnyNotIn": _in(every=False, negated=True),
    "AllNotIn": _in(every=True, negated=True),
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
