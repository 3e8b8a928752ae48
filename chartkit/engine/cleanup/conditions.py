"""The conditions of cleanup policies: every one of `all`, then one of `any`.

Unlike preconditions, a failed `all` spares the rest, and an empty `any` holds
(`pkg/utils/conditions`).
"""

from __future__ import annotations

from collections.abc import Callable

from chartkit.engine.cluster_policy.conditions import compile_conditions
from chartkit.engine.context.context import Context
from chartkit.model import Body

AnyAll = Callable[[Context], bool]
"""A test whether conditions hold in a context; raises EvaluationError."""


def compile_any_all(body: Body) -> AnyAll:
    """Compiles an any/all block whose schema was checked."""
    every = compile_conditions({"all": body.get("all") or []})
    some = body.get("any") or []
    alternatives = compile_conditions({"any": some}) if some else None

    def holds(context: Context) -> bool:
        if not every.evaluate(context).holds:
            return False
        return alternatives is None or alternatives.evaluate(context).holds

    return holds
