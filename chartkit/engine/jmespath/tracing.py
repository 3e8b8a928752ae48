"""Expressions searched once more with values that know where they come from.

A search that decided against an object is repeated here to tell the fields of the object that it
read: `compiler` with other closures for what makes, chooses or loses a value. They are slower and
give the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.compiler import (
    ORDER,
    Compiler,
    compile_call,
    compile_node,
    is_false,
    keeps_null,
)
from chartkit.engine.jmespath.declaration import Search, deep_equal, is_number, to_json
from chartkit.engine.jmespath.expression import JMESPathError, NotFoundError
from chartkit.engine.jmespath.nodes import Kind, Node, makes_go_values
from chartkit.engine.jmespath.parser import Comparator, parse
from chartkit.engine.jmespath.traced import ANY_KEY, Traced, listed, made, named, with_keys
from chartkit.model import Json

Trace = Callable[[Traced, Budget], Traced]
"""A compiled expression that knows where its result comes from."""


Argument = tuple[Trace, Node | None]
"""An argument of a call; with its node an `&expression`, which takes each member."""

_UNREAD: Final = Traced(None)
_MOST_ALTERNATIVES: Final = 3
_Keep = Callable[[Json, Sequence[Traced]], Traced | None]


def compile_traced_call(name: Json, arguments: Sequence[Argument]) -> Trace:
    """Return a call as a closure; it raises `JMESPathError` as the call does."""
    run = compile_call(name, [_search(index, node) for index, (_, node) in enumerate(arguments)])
    applied = [trace for trace, node in arguments if node is not None]
    if applied:
        return _over_members(name, run, arguments, applied[0])
    traces = [trace for trace, _ in arguments]
    keep = _KEEPING.get(name) if isinstance(name, str) else None

    def call(here: Traced, budget: Budget) -> Traced:
        given = [trace(here, budget) for trace in traces]
        value = run(given, budget)
        kept = None if keep is None else keep(value, given)
        return made(value, *given) if kept is None else kept

    return call


def _search(index: int, reference: Node | None) -> Search:
    if reference is not None:
        return compile_node(reference, False)
    return lambda given, _budget: given[index].value


def _over_members(name: Json, run: Search, arguments: Sequence[Argument], apply: Trace) -> Trace:
    def call(here: Traced, budget: Budget) -> Traced:
        given = [trace(here, budget) if node is None else _UNREAD for trace, node in arguments]
        value = run(given, budget)
        lists = [argument for argument in given if isinstance(argument.value, list)]
        if len(lists) != 1:
            return made(value, *given)
        members = lists[0].members()
        seen = [apply(member, budget) for member in members]
        if name == "map":
            return listed(seen, lists)
        if isinstance(value, list):
            return _ordered(value, lists) or made(value, *seen)
        chosen = [member for member in members if member.value == value]
        return chosen[0].chosen_by(*seen) if chosen else made(value, *seen, *given)

    return call


def _length(value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    if not isinstance(source.parts, list):
        return made(value, source)
    reads = [read for part in source.parts for read in (*part.reads, part)]
    return Traced(value, None, (*reads, *source.reads), source.lost)


def _keys(value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    parts = [Traced(name, member.path, member.reads) for name, member in source.items()]
    return Traced(value, None, (), source.lacking(), parts)


def _values(value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    return Traced(value, None, (), (source,), [member for _, member in source.items()])


def _items(value: Json, given: Sequence[Traced]) -> Traced | None:
    source, key, held = given
    if not isinstance(source.value, dict):
        return None
    parts = [
        named({key.value: Traced(name, member.path, member.reads), held.value: member})
        for name, member in sorted(source.items(), key=lambda pair: pair[0])
    ]
    return Traced(value, None, (), source.lacking(), parts)


def _not_null(_value: Json, given: Sequence[Traced]) -> Traced | None:
    for index, argument in enumerate(given):
        if argument.value is not None:
            return argument.chosen_by(*given[:index])
    return made(None, *_asked_together(given))


def _asked_together(absent: Sequence[Traced]) -> Sequence[Traced]:
    """Return fields of which any would do; of more than a report lists, the object that has none
    of them."""
    fields = [item for item in absent if item != Traced(item.value)]
    parents = {item.path[:-1] if item.path and item.value is None else () for item in fields}
    parent = parents.pop() if len(parents) == 1 else ()
    many = parent and len(fields) > _MOST_ALTERNATIVES
    return [Traced(None, (*parent, ANY_KEY))] if many else absent


def _to_array(_value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    return source if isinstance(source.value, list) else listed([source])


def _merge(value: Json, given: Sequence[Traced]) -> Traced:
    parts = {name: member for source in given for name, member in source.items()}
    return Traced(value, None, (), tuple(given), parts)


def _lookup(_value: Json, given: Sequence[Traced]) -> Traced | None:
    where, key = given
    if isinstance(where.value, dict) and isinstance(key.value, str):
        return where.member(key.value).chosen_by(key)
    return None


def _contains(value: Json, given: Sequence[Traced]) -> Traced:
    """The answer of contains, with the members or the key that decide it."""
    where, what = given
    members = [member for member in where.members() if member.value == what.value]
    if members:
        return made(value, *members, what)
    keys = [what.value] if isinstance(what.value, str) else []
    needed = list(with_keys(where.lost, keys))
    return made(value, *(needed or [where]), what)


def _ordered(value: Json, given: Sequence[Traced]) -> Traced | None:
    """Return a list with its members in another order."""
    if len(given) != 1 or not isinstance(value, list):
        return None
    source = given[0]
    remaining = list(source.members())
    parts = []
    for member in value:
        chosen = next((element for element in remaining if element.value == member), None)
        if chosen is None:
            return None
        remaining.remove(chosen)
        parts.append(chosen)
    return Traced(value, source.path, source.reads, source.lost, parts)


def _one_of(value: Json, given: Sequence[Traced]) -> Traced | None:
    """Return the member of a list that was chosen, for which all were read."""
    (source,) = given
    chosen = next((member for member in source.members() if member.value == value), None)
    return None if chosen is None else chosen.chosen_by(source)


_KEEPING: Final[dict[str, _Keep]] = {
    "contains": _contains,
    "items": _items,
    "keys": _keys,
    "length": _length,
    "lookup": _lookup,
    "max": _one_of,
    "merge": _merge,
    "min": _one_of,
    "not_null": _not_null,
    "reverse": _ordered,
    "sort": _ordered,
    "to_array": _to_array,
    "values": _values,
}
"""Functions that keep members, by name; None: the call is one like any other."""


_TRACE: Final = "the fields that an expression reads"


class MissingFieldError(NotFoundError):
    """A key that an object does not have; place: null, where it would be."""

    def __init__(self, key: str, place: Traced) -> None:
        super().__init__(key)
        self.place = place


@lru_cache(maxsize=1024)
def compile_trace(text: str) -> Trace:
    """A search that also names the fields that its result comes from.

    Raises `JMESPathError` for a text that is not an expression; the search raises it where it
    fails, and `BudgetError`.
    """
    node = parse(text)
    search, is_converted = _TRACER.trace(node, True), makes_go_values(node)

    def trace(here: Traced, budget: Budget) -> Traced:
        try:
            result = search(here, budget)
        except RecursionError:
            raise JMESPathError("the value nests too deeply") from None
        if is_converted:
            return Traced(to_json(result.value), *result[1:])
        return result

    return trace


def _nothing(source: Traced) -> Traced:
    """Null, for a value of another type."""
    return Traced(None, source.path, source.reads, source.lost)


def _left(source: Traced) -> tuple[Traced, ...]:
    """The causes for which a list has no more members."""
    return source.lost or ((source,) if not source.value else ())


def _elements(source: Traced) -> list[Traced] | None:
    """Return the elements of a list; None for another value."""
    return source.members() if isinstance(source.value, list) else None


def _projection(
    first: Trace,
    members: Callable[[Traced], list[Traced] | None],
    apply: Trace,
    holds: Trace | None = None,
) -> Trace:
    """Return the trace of what is there of each member, where a condition holds, if any."""

    def project(here: Traced, budget: Budget) -> Traced:
        source = first(here, budget)
        given = members(source)
        if given is None:
            return _nothing(source)
        budget.spend(len(given), _TRACE)
        parts: list[Traced] = []
        lost = [*_left(source)]
        for member in given:
            held = None if holds is None else holds(member, budget)
            if held is not None and is_false(held.value):
                lost.append(held)
                continue
            result = apply(member, budget)
            if result.value is None:
                lost.append(result)
            else:
                parts.append(result if held is None else result.chosen_by(held))
        return listed(parts, lost)

    return project


def compared(left: Traced, right: Traced) -> tuple[Traced, ...]:
    """Return two values that are compared: of a number that is smaller than the other, what it
    lacks comes first, and of one that is greater nothing that it lacks."""
    if (left.lost or right.lost) and is_number(left.value) and is_number(right.value):
        if left.value < right.value:
            return (*left.lost, left, right._replace(lost=()))
        if left.value > right.value:
            return (left._replace(lost=()), *right.lost, right)
    return left, right


def _is_constant(node: Node) -> bool:
    if node.kind in (Kind.FUNCTION_EXPRESSION, Kind.COMPARATOR, Kind.NOT_EXPRESSION):
        return bool(node.children) and all(map(_is_constant, node.children))
    return node.kind is Kind.LITERAL


class _Tracer(Compiler):
    """Makes closures over values that know their fields."""

    def trace(self, node: Node, strict: bool = False) -> Trace:
        return self.compile(node, strict)

    def missing(self, error: JMESPathError, /) -> Traced:
        return made(None, error.place) if isinstance(error, MissingFieldError) else Traced(None)

    def constant(self, value: Json, /) -> Trace:
        traced = Traced(value)
        return lambda _here, _budget: traced

    def names(self, names: tuple[str, ...], strict: bool, /) -> Trace:
        if not strict:
            return lambda here, _budget: here.inside(names)

        def walk(here: Traced, _budget: Budget) -> Traced:
            value = here.value
            for index, name in enumerate(names):
                if not isinstance(value, dict):
                    break
                if name not in value:
                    raise MissingFieldError(name, here.inside(names[: index + 1]))
                value = value[name]
            return here.inside(names)

        return walk

    def index(self, node: Node, _strict: bool, /) -> Trace:
        index: int = node.value

        def find(here: Traced, _budget: Budget) -> Traced:
            value, path, reads, lost, _parts = here
            size = len(value) if isinstance(value, list) else 0
            if -size <= index < size:
                return here.member(index % size)
            return Traced(None, None if path is None else (*path, max(index, 0)), reads, lost)

        return find

    def slice(self, node: Node, _strict: bool, /) -> Trace:
        part = slice(*node.value)

        def find(here: Traced, budget: Budget) -> Traced:
            if not isinstance(here.value, list):
                return _nothing(here)
            if part.step == 0:
                raise JMESPathError("Invalid slice, step cannot be 0")
            budget.spend(len(here.value), _TRACE)
            return listed(here.members()[part], _left(here))

        return find

    def projection(self, node: Node, _strict: bool, /) -> Trace:
        first, apply = (self.trace(child) for child in node.children)
        return _projection(first, _elements, apply)

    def filter_projection(self, node: Node, _strict: bool, /) -> Trace:
        apply, holds = (self.trace(child) for child in node.children[1:])
        return _projection(self.quiet(node.children[0]), _elements, apply, holds)

    def flatten(self, node: Node, _strict: bool, /) -> Trace:
        first = self.quiet(node.children[0])

        def flatten(here: Traced, budget: Budget) -> Traced:
            source = first(here, budget)
            if not isinstance(source.value, list):
                return _nothing(source)
            parts: list[Traced] = []
            lost = [*_left(source)]
            for member in source.members():
                if isinstance(member.value, list):
                    budget.spend(len(member.value), _TRACE)
                    parts += member.members()
                    lost += _left(member)
                else:
                    parts.append(member)
            return listed(parts, lost)

        return flatten

    def value_projection(self, node: Node, _strict: bool, /) -> Trace:
        visits_nulls = not keeps_null(node.children[1])

        def members(source: Traced) -> list[Traced] | None:
            if not isinstance(source.value, dict):
                return None
            inner = [member for _, member in source.items()]
            return [Traced(None)] * len(inner) + inner if visits_nulls else inner

        return _projection(self.quiet(node.children[0]), members, self.trace(node.children[1]))

    def comparator(self, node: Node, _strict: bool, /) -> Trace:
        first, second = (self.trace(child) for child in node.children)
        comparator: Comparator = node.value

        def compare(here: Traced, budget: Budget) -> Traced:
            left, right = first(here, budget), second(here, budget)
            value: bool | None = None
            if comparator in (Comparator.EQ, Comparator.NE):
                is_equal = deep_equal(left.value, right.value, budget)
                value = is_equal is (comparator is Comparator.EQ)
            elif is_number(left.value) and is_number(right.value):
                value = ORDER[comparator](float(left.value), float(right.value))
            return Traced(value, None, compared(left, right))

        return compare

    def or_expression(self, node: Node, _strict: bool, /) -> Trace:
        operands = [node]
        while operands[0].kind is Kind.OR_EXPRESSION:
            operands[:1] = operands[0].children
        traces = [self.trace(operand) for operand in operands]

        def either(here: Traced, budget: Budget) -> Traced:
            before: list[Traced] = []
            for trace in traces:
                result = trace(here, budget)
                if not is_false(result.value):
                    return result.chosen_by(*before)
                before.append(result)
            # None is true, and each could be: the first that is asked for comes first.
            first, *others = _asked_together(before)
            return Traced(before[-1].value, first.path, (*first.reads, *others), first.lost)

        return either

    def and_expression(self, node: Node, strict: bool, /) -> Trace:
        first, second = (
            self.trace(node.children[0]),
            self.trace(node.children[1], strict),
        )
        is_constant = _is_constant(node.children[1])

        def both(here: Traced, budget: Budget) -> Traced:
            left = first(here, budget)
            if is_false(left.value):
                # No field decides where the other side is never true.
                if is_constant and is_false(second(here, budget).value):
                    return Traced(left.value)
                return left
            right = second(here, budget)
            return right if is_constant and is_false(right.value) else right.chosen_by(left)

        return both

    def not_expression(self, node: Node, _strict: bool, /) -> Trace:
        operand = self.trace(node.children[0])

        def negate(here: Traced, budget: Budget) -> Traced:
            result = operand(here, budget)
            return Traced(is_false(result.value), None, (result,))

        return negate

    def multi_select_list(self, node: Node, _strict: bool, /) -> Trace:
        members = [self.trace(child) for child in node.children]
        return lambda here, budget: (
            here if here.value is None else listed([member(here, budget) for member in members])
        )

    def multi_select_dict(self, node: Node, _strict: bool, /) -> Trace:
        members = [(child.value, self.trace(child.children[0])) for child in node.children]
        return lambda here, budget: (
            here
            if here.value is None
            else named({key: member(here, budget) for key, member in members})
        )

    def expref(self, node: Node, _strict: bool, /) -> Trace:
        return self.constant(compile_node(node)(None, Budget()))

    def function_expression(self, node: Node, _strict: bool, /) -> Trace:
        return compile_traced_call(
            node.value,
            [
                (self.swallow(self.trace(child.children[0], True)), child)
                if child.kind is Kind.EXPREF
                else (self.trace(child), None)
                for child in node.children
            ],
        )


_TRACER: Final = _Tracer()
