"""The reads that an expression failed over."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Causes,
    Datum,
    Entries,
    Step,
    TraceError,
    TraceFrame,
)
from chartkit.engine.cel.tracing.planner import Planner
from chartkit.engine.cel.values import Value

_MOST_STEPS: Final = 30_000
"""Units of cost of one trace; longer ones tell nothing."""


def causes_of(program: Program, roots: Entries, host: Host, value: Value = False) -> Causes | None:
    """Return the reads that gave an expression a value, or left it without any; None if it has
    another value, or takes too long.

    roots: the variables; host: a `RepeatHost`.
    """
    try:
        found = traced(program, roots, host)
    except TraceError as error:
        return error.causes
    except (CelError, RecursionError):
        return None
    return found if found.value is value or found.value is UNKNOWN else None


def traced(program: Program, roots: Entries, host: Host) -> Datum:
    """Return the value of an expression with its provenance; raises `CelError`."""
    step, slots = _planned(program)
    return step(TraceFrame(roots, host, _MOST_STEPS, slots))


@lru_cache(maxsize=512)
def _planned(program: Program) -> tuple[Step, int]:
    planner = Planner(program.checked, program.environment, program.folded)
    step = planner.plan(program.root, {})
    return step, planner.slots
