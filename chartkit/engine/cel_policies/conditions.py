"""Match conditions: all must hold; one that is false outweighs those that fail to evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.values import Value

T = TypeVar("T")


def holds(
    conditions: Sequence[Program],
    scope: Mapping[str, Value],
    host: Host,
    ignores_errors: bool,
) -> bool:
    """Return whether all conditions hold; a failure to evaluate counts as no if errors are ignored.

    Raises CelError with every failure's text otherwise.
    """
    failures = failed(lambda one: one.evaluate(scope, host), conditions)
    if failures and not ignores_errors:
        raise CelError("; ".join(failures))
    return failures == []


def failed(evaluate: Callable[[T], Value], conditions: Iterable[T]) -> list[str] | None:
    """Return why conditions cannot be evaluated, if none is false; None if one is.

    evaluate: raises CelError.
    """
    failures: list[str] = []
    for condition in conditions:
        try:
            if evaluate(condition) is False:
                return None
        except CelError as error:
            failures.append(error.message)
    return failures
