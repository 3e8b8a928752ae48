"""Patterns as expressions: objects key by key in Kyverno's order, anchors by their meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT, UNKNOWN, Place
from chartkit.addons.migrate.expressions.presence import fits
from chartkit.addons.migrate.expressions.verdict import (
    Verdict,
    any_of,
    condition,
    conjunction,
    disjunction,
    if_present,
    in_order,
    loop_variable,
    of_elements,
    plain,
)
from chartkit.addons.migrate.operators import DURATION_OR_ZERO, as_duration
from chartkit.addons.migrate.validate.cel_rule import TAGS, VariableKey, VariableText, same
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Binary, Literal
from chartkit.engine.cluster_policy.pattern.build import AnchorKind, in_phases, parse_anchor
from chartkit.engine.cluster_policy.pattern.scalar import (
    ORDERS,
    Operation,
    Range,
    compile_scalar,
    read_alternatives,
    read_operation,
)
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Body, Json

_WHOLE: Final = re.compile(r"[-+]?\d+", re.ASCII)
_COMPARED: Final = {"": "==", "!": "!="}
_SIZES: Final = frozenset(("capacity", "hard", "limits", "requests", "resources"))
"""Fields below which there are sizes, and no durations."""
_WORDS: Final = {"true": True, "false": False}
_ZEROS: Final[Mapping[str, Json]] = {TEXT: "", "int": 0, "bool": False, "double": 0.0}
_ZERO_VALUES: Final[tuple[Json, ...]] = (None, "", 0, False, [])
_NOTHING: Final = cel.list_of(cel.call("dyn", zero) for zero in _ZERO_VALUES)


def leaf(place: Place, pattern: Json) -> Expr:
    """Report whether a value matches a pattern that is neither an object nor a list.

    place: where it is, perhaps with nothing there. Raises `NotConvertible`.
    """
    if not place.is_known and pattern is not None:
        place = place.taken_for(_natural(pattern, place.path))
    if place.is_list:
        element = place.element("item")
        every = cel.macro(place.value, "all", "item", leaf(element, pattern))
        present = place.is_present()
        if pattern is None:
            return disjunction(cel.negate(present), every)
        return conjunction(present, every)
    if place.is_map:
        if pattern is None:
            return cel.negate(place.is_present())
        # No object is a text, not even where the pattern has a wildcard.
        return cel.FALSE
    if pattern is None and not place.is_known:
        return cel.contains(_NOTHING, place.or_value(cel.NULL))
    if pattern is None:
        return _nothing(place)
    if isinstance(pattern, bool):
        if place.type != "bool" and place.is_optional:
            return cel.equal(place.or_value(cel.NULL), pattern)
        value = place.or_value(not pattern)
        return value if pattern else cel.negate(value)
    if isinstance(pattern, str):
        return _text(place, pattern)
    if place.type in ("int", "double"):
        return cel.equal(place.or_value(cel.NULL), pattern)
    if place.type == TEXT:
        raise NotConvertible(f"the number {pattern} is compared with a field that is a text")
    value = place.or_value(cel.NULL)
    return disjunction(cel.equal(value, pattern), cel.equal(value, str(pattern)))


def _natural(pattern: Json, path: str) -> str:
    """Return the type that a pattern is written for, which the names of fields may tell."""
    if isinstance(pattern, bool):
        return "bool"
    if isinstance(pattern, int):
        return "int"
    if isinstance(pattern, float):
        return "double"
    parts = [part for alternative in read_alternatives(str(pattern)) for part in alternative]
    if all(part.removeprefix("!") in _WORDS for part in parts):
        return "bool"
    operands = []
    for operation in map(read_operation, parts):
        if isinstance(operation, Range):
            operands += [operation.low, operation.high]
        else:
            operands.append(operation.operand)
    sized = [quantity_or_none(operand) is not None for operand in operands]
    if any(sized) and not all(sized):
        raise NotConvertible("a text and a size are compared with a field of unknown type")
    if not all(sized):
        return TEXT
    if not _SIZES.isdisjoint(path.split(".")):
        return "quantity"
    if all(map(_WHOLE.fullmatch, operands)):
        return "int"
    # Such as 5m, which is a size as well.
    lasting = [duration_or_none(operand) is not None for operand in operands]
    return TEXT if all(lasting) else "quantity"


def leaf_or_nothing(place: Place, pattern: Json) -> Expr:
    """Report whether a value matches a pattern or is absent. Raises `NotConvertible`."""
    place = (
        place
        if place.is_known or pattern is None
        else place.taken_for(_natural(pattern, place.path))
    )
    settled = place.settled()
    test = leaf(settled, pattern)
    match test:
        case Binary("==", left, Literal() as wanted) if left == settled.value:
            # An absent value counts as the one that is wanted.
            return cel.equal(place.or_value(wanted), wanted)
    if test in (settled.value, cel.negate(settled.value)):
        value = place.or_value(test == settled.value)
        return value if test == settled.value else cel.negate(value)
    return disjunction(cel.negate(place.is_present()), test)


def _nothing(place: Place) -> Expr:
    zeros = [_ZEROS[place.type]] if place.type in _ZEROS else ["", 0, False]
    tests = [cel.equal(place.value, zero) for zero in zeros]
    if not place.is_optional:
        return cel.any_of(tests)
    if len(zeros) == 1 and place.is_known:
        return cel.equal(place.or_value(zeros[0]), zeros[0])
    return disjunction(cel.negate(place.is_present()), *tests)


def _text(place: Place, pattern: str) -> Expr:
    alternatives = [
        conjunction(*(_operation(place, part) for part in operations))
        for operations in read_alternatives(pattern)
    ]
    # Alternatives that compare with one text each become one `in`.
    value = place.or_value(cel.NULL)
    texts = [_text_of(alternative, value) for alternative in alternatives]
    listed = [text for text in texts if text is not None]
    if len(listed) < 2:
        return disjunction(*alternatives)
    others = [test for test, text in zip(alternatives, texts, strict=True) if text is None]
    return disjunction(cel.contains(cel.list_of(listed), value), *others)


def _text_of(test: Expr, value: Expr) -> Expr | None:
    """Return the text that a test compares a value with; None for another test."""
    match test:
        case Binary("==", _, Literal(str()) as text) if test == cel.equal(value, text):
            return text
    return None


def _operation(place: Place, text: str) -> Expr:
    operation = read_operation(text)
    if isinstance(operation, Operation):
        return _comparison(place, operation)
    joined = disjunction if operation.excludes else conjunction
    return joined(*(_comparison(place, part) for part in operation.operations))


def _comparison(place: Place, operation: Operation) -> Expr:
    prefix, operand = operation
    quantity, duration = quantity_or_none(operand), duration_or_none(operand)
    if duration is not None and quantity is None:
        return _lasting(place, prefix, operand)
    if quantity is not None:
        sized = _sized(place, prefix, operand)
        is_open = duration or (duration == 0 and place.path in (place.assumed or {}))
        return _or_lasting(place, prefix, operand, sized) if is_open else sized
    if prefix in ORDERS:
        return cel.FALSE
    wanted = not prefix
    if place.type == "bool":
        matches = compile_wildcard(operand)
        words = [value for word, value in _WORDS.items() if matches(word) is wanted]
        if len(words) == 1:
            return leaf(place, words[0])
        return place.is_present() if words else cel.FALSE
    if place.type in ("int", "double"):
        # Whether a number, written as a text, fits a text that is not a number.
        if not has_wildcard(operand):
            return cel.FALSE if wanted else place.is_present()
        if place.type == "double" and operand.strip("*"):
            raise NotConvertible(f"the text '{operand}' is compared with a number")
        test = fits(cel.call("string", place.value), operand)
        return conjunction(place.is_present(), test if wanted else cel.negate(test))
    if wanted:
        return _fits(place, operand)
    # An absent value has no text, and Kyverno lets nothing match that.
    return conjunction(place.is_present(), cel.negate(fits(place.value, operand)))


def _lasting(place: Place, prefix: str, operand: str) -> Expr:
    """Return the comparison with a duration, of which what is absent is zero."""
    if place.type != TEXT:
        raise NotConvertible(
            f"the duration {operand} is compared with a value that is not a string"
        )
    text, form = place.or_value("0"), DURATION_OR_ZERO
    against = cel.call("duration", operand)
    sign = _COMPARED.get(prefix, prefix)
    test = as_duration(text, lambda given: cel.compare(sign, given, against), form)
    if prefix != "!":
        return test
    return cel.negate(as_duration(text, lambda given: cel.equal(given, against), form))


def _or_lasting(place: Place, prefix: str, operand: str, sized: Expr) -> Expr:
    """Return the comparison with an operand that is a size and a duration, such as 5m: of a value
    that is a duration, Kyverno compares durations."""
    if place.type != TEXT:
        return sized
    text = place.or_value("0")
    given, against = cel.call("duration", text), cel.call("duration", operand)
    lasts = cel.compare(_COMPARED.get(prefix, prefix), given, against)
    return cel.conditional(cel.method(text, "matches", DURATION_OR_ZERO), lasts, sized)


def _fits(place: Place, operand: str) -> Expr:
    if not has_wildcard(operand):
        test = cel.equal(place.or_value(cel.NULL), operand)
        if place.type == UNKNOWN and operand in _WORDS:
            return disjunction(cel.equal(place.or_value(cel.NULL), _WORDS[operand]), test)
        return test
    if not operand.strip("*"):
        return place.is_present()
    if operand.strip("*") == "?" and operand != "?":
        return cel.not_equal(place.or_value(""), "")
    return fits(place.or_value(""), operand)


def _sized(place: Place, prefix: str, operand: str) -> Expr:
    if place.type in ("int", "double"):
        number = _plain_number(operand)
        if number is None:
            raise NotConvertible(f"the size {operand} is compared with a number")
        value = place.or_value(0)
        if isinstance(number, float) and place.type == "int":
            value = cel.call("double", value)
        return cel.compare(_COMPARED.get(prefix, prefix), value, number)
    if place.type == "bool":
        raise NotConvertible(f"the size {operand} is compared with a boolean")
    text = place.or_value("0")
    if place.type != TEXT:
        text = cel.call("string", text)
    compared = cel.method(
        cel.call("quantity", text), "compareTo", cel.call("quantity", operand.removeprefix("+"))
    )
    test = cel.compare(_COMPARED.get(prefix, prefix), compared, 0)
    if place.type == "quantity":
        return test
    is_size = cel.call("isQuantity", text)
    if prefix in ORDERS:
        return conjunction(is_size, test)
    by_text = (cel.equal if not prefix else cel.not_equal)(text, operand)
    return cel.conditional(is_size, test, by_text)


def _plain_number(operand: str) -> int | float | None:
    if re.fullmatch(r"[-+]?\d+", operand, re.ASCII):
        return int(operand)
    if re.fullmatch(r"[-+]?\d+\.\d+", operand, re.ASCII):
        exact = Decimal(operand)
        return int(exact) if exact == exact.to_integral_value() else float(operand)
    return None


_TEXTS: Final = "{}string"


def pattern_verdict(pattern: Json, place: Place, taken: frozenset[str] = frozenset()) -> Verdict:
    """Return what a pattern says of the value at a place; taken: the variables in use.

    Raises `NotConvertible`.
    """
    if isinstance(pattern, VariableText):
        others = (pattern_verdict(other, place, taken).allows for other in pattern.others)
        return plain(disjunction(same(place, pattern), *others))
    if isinstance(pattern, dict):
        return _object(pattern, place, taken)
    if isinstance(pattern, list):
        if not pattern:
            raise NotConvertible("an empty list in a pattern matches nothing")
        first = pattern[0]
        if isinstance(first, list):
            raise NotConvertible("a list of lists in a pattern")
        place = place.taken_for(ANY_LIST)
        if not place.is_list:
            raise NotConvertible("the pattern has a list, and the field is not a list")
        variable = loop_variable(place, taken)
        element = place.element(variable)
        inner = pattern_verdict(first, element, taken | {variable})
        return of_elements(place.or_value([]), variable, inner)
    return plain(leaf(place, pattern))


def any_pattern_verdict(
    patterns: Json, place: Place, taken: frozenset[str] = frozenset()
) -> Verdict:
    """Return what a list of alternative patterns says; raises `NotConvertible`."""
    if not isinstance(patterns, list) or not patterns:
        raise NotConvertible("anyPattern is not a list of patterns", "validate/anyPattern")
    return any_of([pattern_verdict(pattern, place, taken) for pattern in patterns])


def _object(pattern: Body, place: Place, taken: frozenset[str]) -> Verdict:
    place = place.taken_for(ANY_MAP)
    if not place.is_map:
        raise NotConvertible("the pattern has an object, and the field is not an object")
    first, then = in_phases(pattern)
    anchored = [(key, _entry(key, pattern[key], place, taken)) for key in first]
    conditions = [verdict for key, verdict in anchored if _is_condition(key)]
    others = [verdict for key, verdict in anchored if not _is_condition(key)]
    if len(anchored) > 1:
        if not conditions and not any(other.always_applies for other in others):
            raise NotConvertible("several lists in anchors, each with conditions of its own")
        # A list of which no element applies does not count next to an anchor that holds.
        others = [plain(verdict.allows) for verdict in others]
    applied = [verdict if _is_condition(key) else others.pop(0) for key, verdict in anchored]
    return in_order([*applied, *(_entry(key, pattern[key], place, taken) for key in then)])


def _is_condition(written: str) -> bool:
    anchor = parse_anchor(written)
    return anchor is not None and anchor.kind is AnchorKind.CONDITION


def _entry(written: str, pattern: Json, place: Place, taken: frozenset[str]) -> Verdict:
    anchor = parse_anchor(written)
    if anchor is None or anchor.kind is AnchorKind.ADDITION:
        if has_wildcard(written) and place.path.endswith(TAGS):
            return _wild_entry(None, written, pattern, place)
        child = _child(place, written, written)
        if pattern == "*":
            is_certain = child.is_known
            return plain(
                child.is_present() if is_certain else cel.not_equal(child.or_value(None), None)
            )
        if isinstance(pattern, dict | list):
            return _required(pattern, child, taken)
        return pattern_verdict(pattern, child, taken)
    if has_wildcard(anchor.key) and place.path.endswith(TAGS):
        return _wild_entry(anchor.kind, anchor.key, pattern, place)
    child = _child(place, written, anchor.key)
    match anchor.kind:
        case AnchorKind.NEGATION:
            return plain(cel.negate(child.is_present()))
        case AnchorKind.EXISTENCE:
            child = child.taken_for(ANY_LIST)
            exists = _exists(pattern, child.settled(), taken)
            return if_present(child.is_present(), plain(exists))
        case AnchorKind.CONDITION:
            return condition(_required(pattern, child, taken).holds)
        case AnchorKind.GLOBAL:
            return condition(_where_present(pattern, child, taken).holds)
        case _:
            return _where_present(pattern, child, taken)


def _child(place: Place, written: str, key: str) -> Place:
    """Return the place of a key of a pattern; written: with its anchor."""
    if not isinstance(written, VariableKey):
        return place.child(key)
    if not place.type.startswith("{}"):
        raise NotConvertible("a variable in a key of a pattern, of a value that is not a map")
    return place.entry(written.name)


def _wild_entry(kind: AnchorKind | None, key: str, pattern: Json, place: Place) -> Verdict:
    """Return the verdict of a key with wildcards, which labels and annotations may have."""
    if place.type != _TEXTS:
        raise NotConvertible(f"the key {key} has a wildcard, and its value may be no string")
    name = cel.ident("key")
    entries, named = place.or_value({}), fits(name, key)
    if kind is AnchorKind.NEGATION:
        return plain(cel.negate(cel.macro(entries, "exists", "key", named)))
    if pattern != "*" and compile_scalar(pattern)(None):
        raise NotConvertible(f"the key {key} has a wildcard, and its value may be zero")
    entry = Place(cel.index(place.value, name), (), TEXT)
    test = cel.TRUE if pattern == "*" else leaf(entry, pattern)
    if kind in (AnchorKind.EQUALITY, AnchorKind.GLOBAL):
        every = cel.macro(entries, "all", "key", disjunction(cel.negate(named), test))
        return plain(every) if kind is AnchorKind.EQUALITY else condition(every)
    some = cel.macro(entries, "exists", "key", conjunction(named, test))
    return condition(some) if kind is AnchorKind.CONDITION else plain(some)


def _required(pattern: Json, child: Place, taken: frozenset[str]) -> Verdict:
    """Return the verdict of a pattern that fails where there is no value."""
    verdict = pattern_verdict(pattern, child, taken)
    present = child.is_present()
    if present == cel.TRUE or (_fails_on_nothing(pattern) and verdict.always_applies):
        return verdict
    return in_order([plain(present), pattern_verdict(pattern, child.settled(), taken)])


def _fails_on_nothing(pattern: Json) -> bool:
    """Report whether the test of a pattern fails by itself where there is no value."""
    if isinstance(pattern, dict):
        return any(
            parse_anchor(key) is None and (value == "*" or _fails_on_nothing(value))
            for key, value in pattern.items()
        )
    if isinstance(pattern, list):
        return False
    if isinstance(pattern, VariableText):
        # A size that is absent counts as zero, which the variable may be.
        return pattern.place.type == TEXT and all(map(_fails_on_nothing, pattern.others))
    return not compile_scalar(pattern)(None)


def _where_present(pattern: Json, child: Place, taken: frozenset[str]) -> Verdict:
    """Return the verdict of a pattern that counts only where there is a value."""
    if not child.is_optional:
        return pattern_verdict(pattern, child, taken)
    if isinstance(pattern, list) and pattern and isinstance(pattern[0], dict):
        return pattern_verdict(pattern, child, taken)
    if isinstance(pattern, dict):
        anchors = map(parse_anchor, pattern)
        on_nothing = (AnchorKind.EQUALITY, AnchorKind.NEGATION)
        if all(anchor is not None and anchor.kind in on_nothing for anchor in anchors):
            return pattern_verdict(pattern, child, taken)
    if not isinstance(pattern, dict | list | VariableText):
        return plain(leaf_or_nothing(child, pattern))
    return if_present(child.is_present(), pattern_verdict(pattern, child.settled(), taken))


def _exists(pattern: Json, child: Place, taken: frozenset[str]) -> Expr:
    if not isinstance(pattern, list) or not all(isinstance(item, dict) for item in pattern):
        return cel.FALSE
    variable = loop_variable(child, taken)
    element = child.element(variable)
    return conjunction(
        *(
            cel.macro(
                child.value,
                "exists",
                variable,
                pattern_verdict(item, element, taken | {variable}).holds,
            )
            for item in pattern
        )
    )
