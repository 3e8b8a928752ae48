"""The operators of conditions that look for keys among values: `AnyIn`, `AllNotIn`, `In` …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    ANY_LIST,
    EVERYTHING,
    INT_OR_TEXT,
    QUANTITY,
    TEXT,
    UNKNOWN,
    Place,
    takes_everything,
)
from chartkit.addons.migrate.expressions.presence import fits, fits_value
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.jmespath import Constant, Stream, Term, Value
from chartkit.addons.migrate.jmespath.lists import is_list
from chartkit.addons.migrate.jmespath.terms import expression_of, type_of
from chartkit.addons.migrate.operators import (
    Test,
    as_text,
    equals_constant,
    in_text,
    is_one_of,
    listed_in,
    natural,
    or_everything,
    whole_number,
)
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import ListLiteral, Literal
from chartkit.engine.cluster_policy.conditions.operators import sprint
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Json

_TEXTS = (f"[]{TEXT}", ANY_LIST)
"""Types of lists in which a text with wildcards is looked for: what they hold is a text."""


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
            everything = takes_everything(f"{list_.path}[]")
            other = cel.contains(list_.value, EVERYTHING) if everything else cel.FALSE
            return lambda place: disjunction(cel.contains(list_.value, _text(place)), other)
        case Value(list_) if list_.is_list or not list_.is_known:
            # What an answer or a text holds is taken for a list.
            taken = list_.taken_for(ANY_LIST).value
            return lambda place: cel.contains(taken, place.value)
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
    bare = [cel.undyned(element) for element in elements]
    constants = [element.value for element in bare if isinstance(element, Literal)]
    plain = all(isinstance(constant, str) and not has_wildcard(constant) for constant in constants)
    others = [
        element
        for element, written in zip(elements, bare, strict=True)
        if not isinstance(written, Literal)
    ]

    def test(place: Place) -> Expr:
        tests = [fits_value(_text(place), other) for other in others]
        if plain and all(
            test == cel.equal(_text(place), other)
            for test, other in zip(tests, others, strict=True)
        ):
            return cel.contains(list_.value, _text(place))
        return disjunction(_among(constants)(place) if constants else cel.FALSE, *tests)

    return test


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
            case Value(place) if place.type in _TEXTS and has_wildcard(str(constant)):
                test = fits(_text(place.element("item")), str(constant))
                return cel.macro(place.value, "exists", "item", test)
            case Value(place) if not place.is_known and place.path:
                return _constant_in(Value(place.taken_for(ANY_LIST)))(constant)
            case Value(place) if has_wildcard(str(constant)):
                raise NotConvertible(f"a wildcard is looked for in {place.type}")
            case Value(place) if place.is_list and takes_everything(f"{place.path}[]"):
                wanted = cel.list_of(dict.fromkeys((constant, EVERYTHING)))
                test = cel.contains(wanted, cel.ident("item"))
                return cel.macro(place.value, "exists", "item", test)
            case Value(place) if place.is_list:
                return cel.contains(place.value, constant)
            case Value(place) if place.type == TEXT:
                return in_text(place, constant)
        raise NotConvertible("the values of a condition have a type that is not known")

    return test


def among_values(*, every: bool, negated: bool) -> Test:
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
                inner = _member(value)(place.element("item"))
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


def listed(test: Test, *, negated: bool = False) -> Test:
    """Return the test of an old operator, which takes a list of values or a text for one."""

    def checked(key: Term, value: Term) -> Expr:
        if isinstance(value, Constant) and isinstance(value.value, str):
            text = value.value
            if not text.lstrip().startswith("[") and text != "null":
                return _in_written_text(key, text, negated=negated)
        if type_of(value) == TEXT and type_of(key) == TEXT:
            return _in_text_alone(test, key, value, negated=negated)
        if isinstance(value, Value):
            value = replace(value, place=value.place.taken_for(ANY_LIST))
        is_text = isinstance(value, Value) and not value.place.is_list
        if is_text or (isinstance(value, Constant) and not isinstance(value.value, list)):
            raise NotConvertible("In and NotIn with a value that is not a list")
        if is_list(key) and isinstance(value, Constant):
            _require_texts(key)
            if not all(isinstance(item, str) for item in value.value):
                return cel.FALSE
            if any(map(has_wildcard, value.value)):
                raise NotConvertible("In and NotIn of a list and texts with wildcards")
        return test(key, value)

    return checked


def _require_texts(keys: Term) -> None:
    if type_of(keys) != f"[]{TEXT}":
        raise NotConvertible("In and NotIn of a list of values that might not be strings")


def _in_written_text(key: Term, text: str, *, negated: bool) -> Expr:
    """Report whether a key is a text, which is no list in JSON: NotIn holds of no single key, and
    of a list as In does, if the text is all that it has."""
    if is_list(key):
        _require_texts(key)
        return cel.equal(expression_of(key), cel.list_of([text]))
    if negated or not isinstance(key, Value):
        return cel.FALSE
    # The wildcards that count are those of the text.
    place = replace(key.place, path="") if takes_everything(key.place.path) else key.place
    return _among([text])(place)


def _in_text_alone(test: Test, key: Term, value: Term, *, negated: bool) -> Expr:
    """Report whether a text is in another, which may be a list in JSON: NotIn holds of no other."""
    if not negated or isinstance(value, Constant):
        return test(key, value)
    if not isinstance(value, Value):
        raise NotConvertible("In and NotIn with a value that is not a list")
    is_list = cel.method(value.place.value, "startsWith", "[")
    listed = cel.method(cel.ident("json"), "unmarshal", value.place.value)
    return conjunction(is_list, cel.negate(cel.contains(listed, expression_of(key))))
