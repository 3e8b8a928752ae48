"""Function calls made into closures that check arguments as cheaply as they can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import FunctionSpec, ItemsList, Search
from chartkit.engine.jmespath.errors import ArityError, JMESPathError, UnknownFunctionError
from chartkit.engine.jmespath.registry import FUNCTIONS
from chartkit.model import Json

_Run = Callable[[list[Json], Budget], Json]
"""Calls a function with arguments that are worked out."""

_SIZED: Final = frozenset({str, list, dict, ItemsList})
_CHARACTERS: Final = 2
"""How many characters or members a function goes through in a step, as a power of two."""


def compile_call(name: Json, arguments: Sequence[Search]) -> Search:
    """The closure of a call; unknown names and wrong numbers of arguments fail when it runs.

    Kyverno looks at neither before the call is reached and its arguments are worked out.
    """
    if not isinstance(name, str):
        return _failing((), JMESPathError("invalid node value type"))
    spec = FUNCTIONS.get(name)
    if spec is None:
        return _failing(arguments, UnknownFunctionError(f"unknown function: {name}"))
    if not spec.parameters:
        return _ignoring(spec, arguments)
    if spec.variadic:
        if len(arguments) < len(spec.parameters):
            return _failing(arguments, ArityError("Invalid arity."))
        return _unchecked(spec, arguments)
    if len(arguments) != len(spec.parameters):
        return _failing(arguments, ArityError("incorrect number of args"))
    return _unary(spec, arguments[0]) if len(arguments) == 1 else _checked(spec, arguments)


def _failing(arguments: Sequence[Search], error: JMESPathError) -> Search:
    def call(value: Json, budget: Budget) -> Json:
        for argument in arguments:
            argument(value, budget)
        raise type(error)(error.message)

    return call


def _ignoring(spec: FunctionSpec, arguments: Sequence[Search]) -> Search:
    run = spec.implementation

    def call(value: Json, budget: Budget) -> Json:
        for argument in arguments:
            argument(value, budget)
        return run()

    return call


def _unchecked(spec: FunctionSpec, arguments: Sequence[Search]) -> Search:
    run = _counting(spec)
    return lambda value, budget: run([argument(value, budget) for argument in arguments], budget)


def _unary(spec: FunctionSpec, argument: Search) -> Search:
    run, (parameter,), counts = spec.implementation, spec.parameters, spec.counts
    classes, check, name = parameter.classes, parameter.check, f"{spec.name}()"

    def call(value: Json, budget: Budget) -> Json:
        given = argument(value, budget)
        kind = given.__class__
        if classes is not None and kind not in classes:
            check(given, budget)
        if kind in _SIZED:
            budget.steps -= len(given) >> _CHARACTERS
            if budget.steps < 0:
                budget.spend(0, name)
        return run(budget, given) if counts else run(given)

    return call


def _checked(spec: FunctionSpec, arguments: Sequence[Search]) -> Search:
    run = _counting(spec)
    checks = [
        (index, parameter.classes, parameter.check)
        for index, parameter in enumerate(spec.parameters)
        if parameter.classes is not None
    ]

    def call(value: Json, budget: Budget) -> Json:
        given = [argument(value, budget) for argument in arguments]
        for index, classes, check in checks:
            if given[index].__class__ not in classes:
                check(given[index], budget)
        return run(given, budget)

    return call


def _counting(spec: FunctionSpec) -> _Run:
    run, name, counts = spec.implementation, f"{spec.name}()", spec.counts

    def count(given: list[Json], budget: Budget) -> Json:
        size = 0
        for one in given:
            if one.__class__ in _SIZED:
                size += len(one)
        budget.steps -= size >> _CHARACTERS
        if budget.steps < 0:
            budget.spend(0, name)
        return run(budget, *given) if counts else run(*given)

    return count
