"""The overloads of a call, and their result types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chartkit.engine.cel.checker.tables import Candidate, Resolution, Signatures
from chartkit.engine.cel.checker.unification import Substitution, is_closed, is_same, plain_kinds
from chartkit.engine.cel.types import DYN, ERROR, Type, TypeKind, parameter


@dataclass(slots=True)
class Variables:
    """The type variables of one expression: those that were made, and what they are bound to.

    open: whether a type of the expression may still have a variable in it; while none has, nothing
    needs to be replaced.
    """

    made: int = 0
    open: bool = False
    substitution: Substitution = field(default_factory=Substitution)

    def make(self) -> Type:
        """A new type variable."""
        self.open = True
        self.made += 1
        return parameter(f"_var{self.made - 1}")

    def resolve(self, value: Type) -> Type:
        """The type as far as it is known by now."""
        if not self.open or not (value.parameters or value.kind is TypeKind.PARAMETER):
            return value
        return self.substitution.resolve(value)

    def close(self, value: Type) -> Type:
        """The type with everything that is still not known being dyn."""
        if not self.open or not (value.parameters or value.kind is TypeKind.PARAMETER):
            return value
        return self.substitution.close(value)

    def assign(self, source: Type, target: Type) -> bool:
        """Return whether a value of one type may stand where the other is asked for."""
        return source is target or self.substitution.assign(source, target)


def resolve_overloads(
    signatures: Signatures, member: bool, arguments: tuple[Type, ...], variables: Variables
) -> Resolution:
    """Return the resolution of a call with arguments of these types; without ids if nothing
    matches."""
    closed = not variables.open or all(map(is_closed, arguments))
    if closed:
        known = signatures.known.get((member, arguments))
        if known is not None:
            variables.made += known.variables
            return known
    before = variables.made
    ids, returns = _match(signatures, member, arguments, variables)
    found = Resolution(ids, returns, variables.made - before)
    if not is_closed(returns):
        variables.open = True
    elif closed:
        signatures.remember(member, arguments, found)
    return found


def _match(
    signatures: Signatures, member: bool, arguments: tuple[Type, ...], variables: Variables
) -> tuple[tuple[str, ...], Type]:
    ids: list[str] = []
    returns: Type | None = None
    kinds = plain_kinds(arguments)
    for candidate in signatures.members if member else signatures.globals:
        # Variables are made anew for each overload, also for one that does not match: their
        # numbers show in messages.
        first = variables.made
        variables.made += len(candidate.variables)
        if _differ(kinds, candidate.kinds):
            continue
        found = _try(candidate, arguments, variables.substitution, first)
        if found is None:
            continue
        ids.append(candidate.overload.id)
        if returns is None:
            returns = found
        elif not returns.is_dynamic and not is_same(found, returns):
            returns = DYN
    return tuple(ids), returns or ERROR


def _differ(kinds: Sequence[TypeKind | None], wanted: Sequence[TypeKind | None]) -> bool:
    """Return whether a glance shows that the arguments are not those of an overload."""
    if len(kinds) != len(wanted):
        return True
    for kind, other in zip(kinds, wanted, strict=True):
        if kind is not other and kind is not None and other is not None:
            return True
    return False


def _try(
    candidate: Candidate, arguments: tuple[Type, ...], substitution: Substitution, first: int
) -> Type | None:
    """Return the overload's result type for these arguments; None if it does not accept them.

    first: the number of the first of its type variables.
    """
    overload = candidate.overload
    if not candidate.variables:
        taken = substitution.assign_all(arguments, overload.parameters)
        return overload.returns if taken else None
    fresh = {
        name: parameter(f"_var{first + position}")
        for position, name in enumerate(candidate.variables)
    }
    taken = substitution.assign_all(
        arguments, [_renamed(each, fresh) for each in overload.parameters]
    )
    return substitution.resolve(_renamed(overload.returns, fresh)) if taken else None


def _renamed(value: Type, fresh: dict[str, Type]) -> Type:
    if value.kind is TypeKind.PARAMETER:
        return fresh[value.name]
    if not value.parameters:
        return value
    return Type(value.kind, value.name, tuple(_renamed(each, fresh) for each in value.parameters))
