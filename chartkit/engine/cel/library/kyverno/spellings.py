"""Functions that Kyverno has under two names: `Get` and `get`, `sha1` and `hash.sha1`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chartkit.engine.cel.declarations import Example, Implementation, Overload, Work, overload
from chartkit.engine.cel.types import Type

_Declare = Callable[[Implementation], tuple[Overload, ...]]


def member(
    name: str,
    id: str,
    *parameters: Type,
    returns: Type,
    hosted: bool = False,
    doc: str,
    examples: tuple[Example, ...],
) -> _Declare:
    """A member function called `name` and, as Kyverno had it first, with a capital.

    id: of the overload, without the ending that tells the two apart.
    """
    capital = name[0].upper() + name[1:]

    def declare(implementation: Implementation) -> tuple[Overload, ...]:
        camel = Overload(
            name,
            f"{id}_camel",
            parameters,
            returns,
            implementation,
            member=True,
            hosted=hosted,
            doc=doc,
            examples=examples,
        )
        renamed = tuple(
            replace(each, expression=each.expression.replace(f".{name}(", f".{capital}("))
            for each in examples
        )
        other = f"The older name of `{name}`."
        return (
            camel,
            replace(camel, function=capital, id=f"{id}_pascal", doc=other, examples=renamed),
        )

    return declare


def prefixed(
    prefix: str,
    name: str,
    id: str,
    *parameters: Type,
    returns: Type,
    hosted: bool = False,
    work: Work | None = None,
    doc: str,
    examples: tuple[Example, ...],
) -> _Declare:
    """A function called `prefix.name` and, as Kyverno had it first, `name` alone."""

    def declare(implementation: Implementation) -> tuple[Overload, ...]:
        full = overload(
            f"{prefix}.{name}",
            f"{id}_prefixed",
            *parameters,
            returns=returns,
            hosted=hosted,
            work=work,
            doc=doc,
            examples=examples,
        )(implementation)
        renamed = tuple(
            replace(each, expression=each.expression.replace(f"{prefix}.{name}(", f"{name}("))
            for each in examples
        )
        other = f"The older name of `{prefix}.{name}`."
        return (
            full,
            replace(full, function=name, id=f"{id}_non_prefixed", doc=other, examples=renamed),
        )

    return declare
