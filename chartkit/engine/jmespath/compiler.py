"""The tree of an expression made into closures; nothing is looked up again while searching.

A key that an object lacks is an error in Kyverno, yet most constructs take it as null. Whether
one does depends on the tree alone, so each node is compiled strictly (a missing key raises
`NotFoundError`) or leniently (it is null), and a search raises only what reaches the top.

`tracing` has the same compiler for values that know which fields they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import (
    ExpressionReference,
    FunctionSpec,
    ItemsList,
    Search,
    Type,
    deep_equal,
    is_number,
)
from chartkit.engine.jmespath.expression import (
    ArityError,
    CrashError,
    FunctionError,
    JMESPathError,
    NotFoundError,
    UnknownFunctionError,
)
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import Comparator
from chartkit.errors import raising
from chartkit.go import GoError
from chartkit.model import Json

_NULL_TO_NULL = frozenset(
    {
        Kind.FIELD,
        Kind.INDEX,
        Kind.SLICE,
        Kind.MULTI_SELECT_DICT,
        Kind.MULTI_SELECT_LIST,
        Kind.IDENTITY,
        Kind.CURRENT,
    }
)
_FOLLOW_FIRST = frozenset(
    {Kind.PROJECTION, Kind.FILTER_PROJECTION, Kind.FLATTEN, Kind.VALUE_PROJECTION}
)
_CHAINS = frozenset({Kind.SUBEXPRESSION, Kind.INDEX_EXPRESSION, Kind.PIPE})
_PROJECTION: Final = "a projection"
_FILTER: Final = "a filter"
_SLICE: Final = "a slice"


ORDER: dict[Comparator, Callable[[float, float], bool]] = {
    Comparator.LT: float.__lt__,
    Comparator.LTE: float.__le__,
    Comparator.GT: float.__gt__,
    Comparator.GTE: float.__ge__,
}


def is_false(value: Json) -> bool:
    """Report whether a condition takes the value as false: null, false, or an empty value."""
    return value is None or (not value and isinstance(value, (str, list, dict, bool)))


def keeps_null(node: Node) -> bool:
    """Report whether the node gives null for null, so that an error need not stop before it."""
    if node.kind in _NULL_TO_NULL:
        return True
    if node.kind in _CHAINS:
        return all(map(keeps_null, node.children))
    return node.kind in _FOLLOW_FIRST and keeps_null(node.children[0])


def trailing_names(left: Node, right: Node) -> tuple[list[str], Node, Node]:
    """Return the names of the fields that a subexpression ends with, and the two parts before the
    first of them; no names where it ends with another part."""
    names: list[str] = []
    while right.kind is Kind.FIELD:
        names.insert(0, right.value)
        if left.kind is not Kind.SUBEXPRESSION:
            break
        left, right = left.children
    return names, left, right


class Compiler:
    """Makes the closure of a node by the method of its kind's name; strict: whether a key that is
    missing at its end raises."""

    def compile(self, node: Node, strict: bool = True) -> Search:
        closure: Search = getattr(self, node.kind.name.lower())(node, strict)
        return closure

    def missing(self, _error: JMESPathError, /) -> Json:
        """Null, in place of a value that cannot be found."""
        return None

    def constant(self, value: Json, /) -> Search:
        """Return the closure of a value that no input changes."""
        return lambda _value, _budget: value

    def names(self, names: tuple[str, ...], strict: bool, /) -> Search:
        """The closure of nested fields."""
        if strict:

            def find(value: Json, _: Budget) -> Json:
                name = ""
                try:
                    for name in names:
                        value = value[name]
                except KeyError:
                    raise NotFoundError(name) from None
                except TypeError:
                    return None
                return value

            return find

        def find_or_null(value: Json, _: Budget) -> Json:
            try:
                for name in names:
                    value = value[name]
            except (KeyError, TypeError):
                return None
            return value

        return find_or_null

    def swallow(self, search: Search) -> Search:
        """Return a search for which a missing key is null."""

        def find(value: Json, budget: Budget) -> Json:
            try:
                return search(value, budget)
            except NotFoundError as error:
                return self.missing(error)

        return find

    def quiet(self, node: Node) -> Search:
        """The node with null for every error, as some projections take their left side."""
        search = self.compile(node, False)

        def find(value: Json, budget: Budget) -> Json:
            try:
                return search(value, budget)
            except CrashError:
                raise
            except JMESPathError as error:
                return self.missing(error)

        return find

    def empty(self, _node: Node, _strict: bool, /) -> Search:
        return raising(JMESPathError, "Unknown AST node: ASTEmpty")

    def identity(self, _node: Node, _strict: bool, /) -> Search:
        return lambda value, _: value

    current = identity

    def literal(self, node: Node, _strict: bool, /) -> Search:
        return self.constant(node.value)

    def field(self, node: Node, strict: bool, /) -> Search:
        return self.names((node.value,), strict)

    def index_expression(self, node: Node, strict: bool, /) -> Search:
        first, second = (self.compile(child, strict) for child in node.children)
        return lambda value, budget: second(first(value, budget), budget)

    def pipe(self, node: Node, _strict: bool, /) -> Search:
        return self.index_expression(node, False)

    def subexpression(self, node: Node, strict: bool, /) -> Search:
        left, right = node.children
        if not strict and not keeps_null(right):
            return self.swallow(self.subexpression(node, True))
        names, left, right = trailing_names(left, right)
        if not names:
            return self.index_expression(node, strict)
        if right.kind is not Kind.FIELD:
            left = Node(Kind.SUBEXPRESSION, children=(left, right))
        elif left.kind is Kind.FIELD:
            return self.names((left.value, *names), strict)
        first, second = self.compile(left, strict), self.names(tuple(names), strict)
        return lambda value, budget: second(first(value, budget), budget)

    def index(self, node: Node, _strict: bool, /) -> Search:
        index: int = node.value

        def find(value: Json, _: Budget) -> Json:
            if not isinstance(value, list):
                return None
            try:
                return value[index]
            except IndexError:
                return None

        return find

    def slice(self, node: Node, _strict: bool, /) -> Search:
        part = slice(*node.value)

        def find(value: Json, budget: Budget) -> Json:
            if not isinstance(value, list):
                return None
            if part.step == 0:
                raise JMESPathError("Invalid slice, step cannot be 0")
            budget.spend(len(value), _SLICE)
            return value[part]

        return find

    def projection(self, node: Node, _strict: bool, /) -> Search:
        first = self.compile(node.children[0], False)
        if node.children[1].kind is Kind.IDENTITY:

            def present(value: Json, budget: Budget) -> Json:
                elements = first(value, budget)
                if not isinstance(elements, list):
                    return None
                budget.steps -= len(elements)
                if budget.steps < 0:
                    budget.spend(0, _PROJECTION)
                return [element for element in elements if element is not None]

            return present
        apply = self.compile(node.children[1], False)
        weight = node.children[1].weight

        def project(value: Json, budget: Budget) -> Json:
            elements = first(value, budget)
            if not isinstance(elements, list):
                return None
            budget.steps -= len(elements) * weight
            if budget.steps < 0:
                budget.spend(0, _PROJECTION)
            return [kept for element in elements if (kept := apply(element, budget)) is not None]

        return project

    def filter_projection(self, node: Node, _strict: bool, /) -> Search:
        first = self.quiet(node.children[0])
        apply = self.compile(node.children[1], False)
        holds = self.compile(node.children[2], False)
        weight = node.children[1].weight + node.children[2].weight

        def select(value: Json, budget: Budget) -> Json:
            elements = first(value, budget)
            if not isinstance(elements, list):
                return None
            budget.steps -= len(elements) * weight
            if budget.steps < 0:
                budget.spend(0, _FILTER)
            return [
                kept
                for element in elements
                if not is_false(holds(element, budget))
                and (kept := apply(element, budget)) is not None
            ]

        return select

    def flatten(self, node: Node, _strict: bool, /) -> Search:
        first = self.quiet(node.children[0])

        def flatten(value: Json, budget: Budget) -> Json:
            elements = first(value, budget)
            if not isinstance(elements, list):
                return None
            flat: list[Json] = []
            for element in elements:
                if isinstance(element, list):
                    budget.steps -= len(element) + 1
                    if budget.steps < 0:
                        budget.spend(0, _PROJECTION)
                    flat.extend(element)
                else:
                    flat.append(element)
            return flat

        return flatten

    def value_projection(self, node: Node, _strict: bool, /) -> Search:
        first = self.quiet(node.children[0])
        apply = self.compile(node.children[1], False)
        # Kyverno visits as many nulls as there are members before the members themselves.
        visits_nulls = not keeps_null(node.children[1])
        weight = node.children[1].weight

        def project(value: Json, budget: Budget) -> Json:
            members = first(value, budget)
            if not isinstance(members, dict):
                return None
            elements: list[Json] = list(members.values())
            budget.spend(2 * len(elements) * weight, _PROJECTION)
            if visits_nulls:
                elements = [None] * len(elements) + elements
            return [kept for element in elements if (kept := apply(element, budget)) is not None]

        return project

    def comparator(self, node: Node, _strict: bool, /) -> Search:
        left, right = (self.compile(child, False) for child in node.children)
        if node.value is Comparator.EQ:
            return lambda value, budget: deep_equal(
                left(value, budget), right(value, budget), budget
            )
        if node.value is Comparator.NE:
            return lambda value, budget: (
                not deep_equal(left(value, budget), right(value, budget), budget)
            )
        holds = ORDER[node.value]

        def compare(value: Json, budget: Budget) -> Json:
            first, second = left(value, budget), right(value, budget)
            if is_number(first) and is_number(second):
                return holds(float(first), float(second))
            return None

        return compare

    def or_expression(self, node: Node, _strict: bool, /) -> Search:
        left, right = (self.compile(child, False) for child in node.children)

        def either(value: Json, budget: Budget) -> Json:
            result = left(value, budget)
            return right(value, budget) if is_false(result) else result

        return either

    def and_expression(self, node: Node, strict: bool, /) -> Search:
        left = self.compile(node.children[0], False)
        right = self.compile(node.children[1], strict)

        def both(value: Json, budget: Budget) -> Json:
            result = left(value, budget)
            return result if is_false(result) else right(value, budget)

        return both

    def not_expression(self, node: Node, _strict: bool, /) -> Search:
        operand = self.compile(node.children[0], False)
        return lambda value, budget: is_false(operand(value, budget))

    def multi_select_list(self, node: Node, _strict: bool, /) -> Search:
        members = [self.compile(child, False) for child in node.children]
        return lambda value, budget: (
            None if value is None else [member(value, budget) for member in members]
        )

    def multi_select_dict(self, node: Node, _strict: bool, /) -> Search:
        members = [(child.value, self.compile(child.children[0], False)) for child in node.children]
        return lambda value, budget: (
            None if value is None else {key: member(value, budget) for key, member in members}
        )

    def expref(self, node: Node, _strict: bool, /) -> Search:
        child = node.children[0]
        strict = self.compile(child)
        # Compiled once: references stand inside references, and two each would double every level.
        return self.constant(ExpressionReference(child, strict, self.swallow(strict)))

    def function_expression(self, node: Node, _strict: bool, /) -> Search:
        return compile_call(node.value, [self.compile(child, False) for child in node.children])


_COMPILER: Final = Compiler()


def compile_node(node: Node, strict: bool = True) -> Search:
    """The closure of a node; strict: whether a missing key at its end raises."""
    return _COMPILER.compile(node, strict)


_SIZED: Final = frozenset({str, list, dict, ItemsList})
_CHARACTERS: Final = 2
"""The number of characters or members that a function visits in a step, as a power of two."""


def compile_call(name: Json, arguments: Sequence[Search]) -> Search:
    """The closure of a call; unknown names and wrong numbers of arguments fail when it runs.

    Kyverno looks at neither before the call is reached and its arguments are worked out.
    """
    if not isinstance(name, str):
        return raising(JMESPathError, "invalid node value type")
    spec = FUNCTIONS.get(name)
    if spec is None:
        return _after(arguments, raising(UnknownFunctionError, f"unknown function: {name}"))
    if not spec.parameters:
        return _after(arguments, spec.implementation)
    if spec.variadic:
        if len(arguments) < len(spec.parameters):
            return _after(arguments, raising(ArityError, "Invalid arity."))
        return _checked(spec, arguments, ())
    if len(arguments) != len(spec.parameters):
        return _after(arguments, raising(ArityError, "incorrect number of args"))
    if len(arguments) == 1:
        run, (parameter,), counts = spec.implementation, spec.parameters, spec.counts
        classes, check, name = parameter.classes, parameter.check, f"{spec.name}()"

        def call(value: Json, budget: Budget) -> Json:
            given = arguments[0](value, budget)
            kind = given.__class__
            if classes is not None and kind not in classes:
                check(given, budget)
            if kind in _SIZED:
                budget.steps -= len(given) >> _CHARACTERS
                if budget.steps < 0:
                    budget.spend(0, name)
            try:
                return run(budget, given) if counts else run(given)
            except GoError as error:
                raise FunctionError(str(error)) from error

        return call
    return _checked(spec, arguments, spec.parameters)


def _after(arguments: Sequence[Search], run: Callable[[], Json]) -> Search:
    def call(value: Json, budget: Budget) -> Json:
        for argument in arguments:
            argument(value, budget)
        return run()

    return call


def _checked(spec: FunctionSpec, arguments: Sequence[Search], parameters: Sequence[Type]) -> Search:
    run, name, counts = spec.implementation, f"{spec.name}()", spec.counts
    checks = [
        (index, parameter.classes, parameter.check)
        for index, parameter in enumerate(parameters)
        if parameter.classes is not None
    ]

    def call(value: Json, budget: Budget) -> Json:
        given = [argument(value, budget) for argument in arguments]
        for index, classes, check in checks:
            if given[index].__class__ not in classes:
                check(given[index], budget)
        for sized in given:
            if sized.__class__ in _SIZED:
                budget.steps -= len(sized) >> _CHARACTERS
        if budget.steps < 0:
            budget.spend(0, name)
        try:
            return run(budget, *given) if counts else run(*given)
        except GoError as error:
            raise FunctionError(str(error)) from error

    return call
