"""Sorting, and the greatest and least of a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import ExpressionReference, function, is_number
from chartkit.engine.jmespath.errors import CrashError, FunctionError, JMESPathError
from chartkit.engine.jmespath.functions.collections import plain_list
from chartkit.model import Json


@function("max(array[number]|array[string]) any", "max(`[3, 1, 2]`)")
def max_(members: list[Json]) -> Json:
    """The greatest of a list of numbers or of texts; null for an empty list."""
    return max(members, default=None)


@function("min(array[number]|array[string]) any", "min(`[3, 1, 2]`)")
def min_(members: list[Json]) -> Json:
    """The least of a list of numbers or of texts; null for an empty list."""
    return min(members, default=None)


@function("sort(array[string]|array[number]) array", "sort(keys(request.object.metadata.labels))")
def sort(members: list[Json]) -> list[Json]:
    """A list of numbers or of texts in rising order."""
    return sorted(members)


@function("map(expref, array) array", "map(&name, request.object.spec.containers)")
def map_(budget: Budget, expression: ExpressionReference, members: list[Json]) -> list[Json]:
    """The result of an expression for each element; unlike a projection it keeps nulls."""
    return list(expression.found(plain_list(members), budget))


def _best_by(
    budget: Budget, members: list[Json], expression: ExpressionReference, best: Callable[..., Json]
) -> Json:
    elements = plain_list(members)
    if len(elements) < 2:
        return elements[0] if elements else None
    wanted = _kind(expression.lenient(elements[0], budget))
    keys: list[Json] = []
    for key in expression.found(elements, budget):
        if not wanted(key):
            name = "string" if isinstance(keys[0], str) else "number"
            raise FunctionError(f"invalid type, must be {name}")
        keys.append(key)
    return elements[best(range(len(elements)), key=keys.__getitem__)]


def _kind(key: Json) -> Callable[[Json], bool]:
    if is_number(key):
        return is_number
    if isinstance(key, str):
        return lambda found: isinstance(found, str)
    raise FunctionError("invalid type, must be number of string")


@function("max_by(array, expref) any", "max_by(request.object.spec.containers, &length(name))")
def max_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> Json:
    """The element for which an expression finds the greatest number or text."""
    return _best_by(budget, members, expression, partial(max))


@function("min_by(array, expref) any", "min_by(request.object.spec.containers, &length(name))")
def min_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> Json:
    """The element for which an expression finds the least number or text."""
    return _best_by(budget, members, expression, partial(min))


@function("sort_by(array, expref) array", "sort_by(request.object.spec.containers, &name)")
def sort_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> list[Json]:
    """A list in the rising order of what an expression finds in each element."""
    elements = plain_list(members)
    if len(elements) < 2:
        return elements
    wanted = _kind(expression.lenient(elements[0], budget))
    budget.spend(len(elements) * expression.node.weight, "sort_by()")
    return sorted(elements, key=partial(_sort_key, budget, expression, wanted))


def _sort_key(
    budget: Budget, expression: ExpressionReference, wanted: Callable[[Json], bool], element: Json
) -> Json:
    try:
        key = expression.strict(element, budget)
    except CrashError:
        raise
    except JMESPathError:
        key = None
    if not wanted(key):
        raise FunctionError("error in sort_by comparison")
    return key
