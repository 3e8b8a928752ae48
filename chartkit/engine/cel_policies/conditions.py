"""Match conditions: all must hold; one that is false outweighs those that fail to evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.program.program import Program
from chartkit.engine.cel.values import Value


def holds(
    conditions: Sequence[Program],
    scope: Mapping[str, Value],
    host: Host,
    ignores_errors: bool,
) -> bool:
    """Whether all conditions hold; a failure to evaluate counts as no if errors are ignored.

    Raises CelError with every failure's text otherwise.
    """
    failures: list[str] = []
    for condition in conditions:
        try:
            if condition.evaluate(scope, host) is False:
                return False
        except CelError as error:
            failures.append(error.message)
    if not failures:
        return True
    if ignores_errors:
        return False
    raise CelError("; ".join(failures))
