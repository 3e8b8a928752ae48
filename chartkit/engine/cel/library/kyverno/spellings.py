"""Functions that Kyverno has under two names: `Get` and `get`, `sha1` and `hash.sha1`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chartkit.engine.cel.declarations import Implementation, Overload, Work, overload

_Declare = Callable[[Implementation], tuple[Overload, ...]]


def member(signature: str, doc: str, *examples: str, hosted: bool = False) -> _Declare:
    """Declares a member function under its name and, as Kyverno had it first, with a capital.

    The id in the signature lacks the ending that tells the two apart.
    """

    def declare(implementation: Implementation) -> tuple[Overload, ...]:
        one = overload(signature, doc, *examples, hosted=hosted)(implementation)
        name = one.function
        capital = name[0].upper() + name[1:]
        older = _renamed(one, capital, f".{name}(", f".{capital}(")
        return replace(one, id=f"{one.id}_camel"), replace(older, id=f"{one.id}_pascal")

    return declare


def prefixed(
    signature: str, doc: str, *examples: str, hosted: bool = False, work: Work | None = None
) -> _Declare:
    """Declares a function `prefix.name` and, as Kyverno had it first, `name` alone."""

    def declare(implementation: Implementation) -> tuple[Overload, ...]:
        one = overload(signature, doc, *examples, hosted=hosted, work=work)(implementation)
        name = one.function.rpartition(".")[2]
        older = _renamed(one, name, f"{one.function}(", f"{name}(")
        return replace(one, id=f"{one.id}_prefixed"), replace(older, id=f"{one.id}_non_prefixed")

    return declare


def _renamed(overload: Overload, name: str, old: str, new: str) -> Overload:
    examples = tuple(
        replace(each, expression=each.expression.replace(old, new)) for each in overload.examples
    )
    doc = f"The older name of `{overload.function}`."
    return replace(overload, function=name, doc=doc, examples=examples)
