"""The fields of an object that an expression failed over."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.tracing.causes import Causes, pointers
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Datum,
    Entries,
    Step,
    TraceError,
    TraceFrame,
    reads,
)
from chartkit.engine.cel.tracing.planner import Planner
from chartkit.engine.cel.values import Value

_MOST_STEPS: Final = 30_000
"""Units of cost of one trace; longer ones tell nothing."""


def failed_fields(program: Program, roots: Entries, host: Host, root: Value) -> tuple[str, ...]:
    """Return the JSON pointers of the fields that made an expression false, or left it without a
    value, the most telling one first; none where none can be told.

    roots: the variables; host: a `RepeatHost`; root: the object.
    """
    try:
        return pointers(_causes(program, roots, host), root)
    except (CelError, RecursionError):
        return ()


def _causes(program: Program, roots: Entries, host: Host) -> Causes:
    try:
        found = traced(program, roots, host)
    except TraceError as error:
        return error.causes
    if found.value is not False and found.value is not UNKNOWN:
        # The world has changed since.
        return ()
    return reads(found)


def traced(program: Program, roots: Entries, host: Host) -> Datum:
    """Return the value of an expression with its provenance; raises `CelError`."""
    step, slots = _planned(program)
    return step(TraceFrame(roots, host, _MOST_STEPS, slots))


@lru_cache(maxsize=512)
def _planned(program: Program) -> tuple[Step, int]:
    planner = Planner(program.checked, program.environment, program.folded)
    step = planner.plan(program.root, {})
    return step, planner.slots
