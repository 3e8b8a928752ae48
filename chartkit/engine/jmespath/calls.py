"""Function calls made into closures that check arguments as cheaply as they can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import FunctionSpec, ItemsList, Search, Type
from chartkit.engine.jmespath.errors import (
    ArityError,
    FunctionError,
    JMESPathError,
    UnknownFunctionError,
)
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.go import GoError
from chartkit.model import Json

_SIZED: Final = frozenset({str, list, dict, ItemsList})
_CHARACTERS: Final = 2
"""The number of characters or members that a function visits in a step, as a power of two."""


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
        return _checked(spec, arguments, ())
    if len(arguments) != len(spec.parameters):
        return _failing(arguments, ArityError("incorrect number of args"))
    if len(arguments) == 1:
        return _unary(spec, arguments[0])
    return _checked(spec, arguments, spec.parameters)


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
        try:
            return run(budget, given) if counts else run(given)
        except GoError as error:
            raise FunctionError(str(error)) from error

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
        for one in given:
            if one.__class__ in _SIZED:
                budget.steps -= len(one) >> _CHARACTERS
        if budget.steps < 0:
            budget.spend(0, name)
        try:
            return run(budget, *given) if counts else run(*given)
        except GoError as error:
            raise FunctionError(str(error)) from error

    return call
