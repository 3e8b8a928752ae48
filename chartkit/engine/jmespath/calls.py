"""Function calls made into closures that check arguments as cheaply as they can."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.jmespath.declaration import FunctionSpec, Search
from chartkit.engine.jmespath.errors import ArityError, JMESPathError, UnknownFunctionError
from chartkit.engine.jmespath.registry import FUNCTIONS
from chartkit.model import Json


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
    def call(value: Json) -> Json:
        for argument in arguments:
            argument(value)
        raise type(error)(error.message)

    return call


def _ignoring(spec: FunctionSpec, arguments: Sequence[Search]) -> Search:
    run = spec.implementation

    def call(value: Json) -> Json:
        for argument in arguments:
            argument(value)
        return run()

    return call


def _unchecked(spec: FunctionSpec, arguments: Sequence[Search]) -> Search:
    run = spec.implementation
    return lambda value: run(*[argument(value) for argument in arguments])


def _unary(spec: FunctionSpec, argument: Search) -> Search:
    run, (parameter,) = spec.implementation, spec.parameters
    classes, check = parameter.classes, parameter.check
    if classes is None:
        return lambda value: run(argument(value))

    def call(value: Json) -> Json:
        given = argument(value)
        if given.__class__ not in classes:
            check(given)
        return run(given)

    return call


def _checked(spec: FunctionSpec, arguments: Sequence[Search]) -> Search:
    run = spec.implementation
    checks = [
        (index, parameter.classes, parameter.check)
        for index, parameter in enumerate(spec.parameters)
        if parameter.classes is not None
    ]

    def call(value: Json) -> Json:
        given = [argument(value) for argument in arguments]
        for index, classes, check in checks:
            if given[index].__class__ not in classes:
                check(given[index])
        return run(*given)

    return call
