"""Functions that generated code calls: those of the libraries, and compiled patterns."""

from __future__ import annotations

from collections.abc import Callable

from chartkit.engine.cel.interpreter.dispatch import Dispatch
from chartkit.engine.cel.interpreter.runtime import LONG_TEXT, Meter, Undecided, charge, small
from chartkit.engine.cel.values import Value
from chartkit.go.regexp import compile_regex

_SIZED = frozenset({list, dict, str, bytes})


def caller(dispatch: Dispatch) -> Callable[..., Value]:
    """A call that costs 1."""
    find = dispatch.find

    def run(*args: Value) -> Value:
        return find(args).implementation(*args)

    return run


def metered_caller(dispatch: Dispatch) -> Callable[..., Value]:
    """A call whose cost or work its overload declares."""
    find = dispatch.find

    def run(meter: Meter, *args: Value) -> Value:
        overload = find(args)
        result = overload.implementation(*args)
        charge(meter, 1 if overload.cost is None else overload.cost(args, result))
        if overload.work is not None:
            charge(meter, overload.work(args, result))
        return result

    return run


def bounded(run: Callable[..., Value]) -> Callable[..., Value]:
    """A call within a macro: what it gets and gives must be small, for it is made many times."""

    def run_bounded(*args: Value) -> Value:
        for arg in args:
            if arg.__class__ in _SIZED:
                small(arg)
        result = run(*args)
        if result.__class__ in _SIZED and len(result) > LONG_TEXT:
            raise Undecided
        return result

    return run_bounded


def matcher(pattern: str) -> Callable[[Value], bool]:
    """`text.matches(pattern)` for a pattern that the author wrote; raises `RegexError`."""
    matches = compile_regex(pattern).matches

    def run(text: Value) -> bool:
        if text.__class__ is str and len(text) <= LONG_TEXT:
            return matches(text)
        raise Undecided

    return run
