"""Which overloads a call may mean, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from chartkit.engine.cel.checker.tables import Candidate, Resolution, Signatures
from chartkit.engine.cel.checker.unification import Substitution, is_closed, is_same
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
        return self.substitution.resolve(value) if self.open else value

    def close(self, value: Type) -> Type:
        """The type with everything that is still not known being dyn."""
        return self.substitution.close(value) if self.open else value

    def assign(self, source: Type, target: Type) -> bool:
        """Whether a value of one type may stand where the other is asked for."""
        return source is target or self.substitution.assign(source, target)


def resolve_overloads(
    signatures: Signatures, member: bool, arguments: tuple[Type, ...], variables: Variables
) -> Resolution:
    """What a call with arguments of these types comes to; without ids where nothing matches."""
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
    for candidate in signatures.members if member else signatures.globals:
        found = _try(candidate, arguments, variables)
        if found is None:
            continue
        ids.append(candidate.overload.id)
        if returns is None:
            returns = found
        elif not returns.is_dynamic and not is_same(found, returns):
            returns = DYN
    return tuple(ids), returns or ERROR


def _try(candidate: Candidate, arguments: tuple[Type, ...], variables: Variables) -> Type | None:
    """What the overload gives for these arguments; None where it does not take them.

    Its variables are made anew for each try, also for one that fails: their numbers show in
    messages.
    """
    overload = candidate.overload
    first = variables.made
    variables.made += len(candidate.variables)
    if len(overload.parameters) != len(arguments):
        return None
    substitution = variables.substitution
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
