"""Unification: assignability of types, and the values of type variables.

The rules are cel-go's. Type variables are found by name and bound as calls are looked at: `[]` is
a `list(_var0)` until `[] + [1]` makes it a `list(int)`. What is assumed while an overload is tried
that does not match after all is taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from chartkit.engine.cel.types import DYN, Type, TypeKind, parameter

_TAKES_ANYTHING = frozenset({TypeKind.DYN, TypeKind.ANY, TypeKind.ERROR})
_NESTED = frozenset({TypeKind.OPAQUE, TypeKind.LIST, TypeKind.MAP, TypeKind.TYPE})
_NULLABLE = frozenset(
    {
        TypeKind.OPAQUE,
        TypeKind.STRUCT,
        TypeKind.ANY,
        TypeKind.DURATION,
        TypeKind.TIMESTAMP,
        TypeKind.WRAPPER,
    }
)
_PLAIN = (
    frozenset(TypeKind) - _TAKES_ANYTHING - {*(TypeKind.NULL, TypeKind.PARAMETER, TypeKind.WRAPPER)}
)
"""Kinds of types to which only a type of the same kind is assignable."""

_STEPS = 2_000
"""The most steps for one question: `{a: a}` around itself doubles a type each time."""


class TypeTooLargeError(Exception):
    """A type with more parts than any author intends."""


def check_size(value: Type) -> None:
    """Raises `TypeTooLargeError` where the type has more parts than are looked at."""
    pending, seen = [value], 0
    while pending:
        seen += 1
        if seen > _STEPS:
            raise TypeTooLargeError
        pending.extend(pending.pop().parameters)


def is_same(first: Type, second: Type) -> bool:
    """Report whether two types are the same; a wrapper is the same as its primitive."""
    if first is second:
        return True
    if first.kind is TypeKind.WRAPPER:
        first = first.parameters[0]
    if second.kind is TypeKind.WRAPPER:
        second = second.parameters[0]
    return (
        first.kind is second.kind
        and first.name == second.name
        and len(first.parameters) == len(second.parameters)
        and all(map(is_same, first.parameters, second.parameters))
    )


def plain_kinds(values: Sequence[Type]) -> tuple[TypeKind | None, ...]:
    """The kinds of types, which rule out most overloads of a call."""
    return tuple(value.kind if value.kind in _PLAIN else None for value in values)


def is_closed(value: Type) -> bool:
    """Report whether the type contains no type variable."""
    if value.kind is TypeKind.PARAMETER:
        return False
    return not value.parameters or all(map(is_closed, value.parameters))


def most_general(first: Type, second: Type) -> Type:
    """The more general of two types, one of which is assignable to the other."""
    return first if _is_as_general(first, second) else second


def _is_as_general(first: Type, second: Type) -> bool:
    if first.is_dynamic or first.kind is TypeKind.PARAMETER:
        return True
    if second.is_dynamic or second.kind is TypeKind.PARAMETER:
        return False
    if first.kind not in _NESTED:
        return is_same(first, second)
    if first.kind is not second.kind:
        return False
    return first.kind is TypeKind.TYPE or (
        first.name == second.name
        and len(first.parameters) == len(second.parameters)
        and all(map(_is_as_general, first.parameters, second.parameters))
    )


class Variables:
    """The type variables of one expression and the types that they are bound to.

    open: whether a type of the expression may still have a variable in it; while none has, nothing
    needs to be replaced.
    """

    __slots__ = ("_bound", "_left", "_undo", "made", "open")

    def __init__(self) -> None:
        self.made = 0
        self.open = False
        self._bound: dict[str, Type] = {}
        self._undo: list[tuple[str, Type | None]] = []
        self._left = 0

    def make(self) -> Type:
        self.open = True
        self.made += 1
        return parameter(f"_var{self.made - 1}")

    def resolve(self, value: Type) -> Type:
        """The type as far as it is known so far."""
        return self.replaced(value) if self.open else value

    def close(self, value: Type) -> Type:
        """The type with dyn for everything that is still unknown."""
        return self.replaced(value, DYN) if self.open else value

    def replaced(self, value: Type, free: Type | None = None) -> Type:
        """The type with every bound variable replaced; free: what replaces the others."""
        self._left = _STEPS
        return self._resolve(value, free)

    def _resolve(self, value: Type, free: Type | None) -> Type:
        if value.kind is TypeKind.PARAMETER:
            bound = self._bound.get(value.name)
            if bound is not None:
                return self._resolve(bound, free)
            return free or value
        if not value.parameters or value.kind not in _NESTED:
            return value
        self._step()
        resolved = [self._resolve(inner, free) for inner in value.parameters]
        if all(map(is_, resolved, value.parameters)):
            return value
        return Type(value.kind, value.name, tuple(resolved))

    def _step(self) -> None:
        self._left -= 1
        if not self._left:
            raise TypeTooLargeError

    def assign(self, source: Type, target: Type) -> bool:
        """Report whether `source` is assignable to `target`; bind variables only where it is."""
        return source is target or self.assign_all((source,), (target,))

    def assign_all(self, sources: Sequence[Type], targets: Sequence[Type]) -> bool:
        """Report whether each source is assignable to its target, with the same bindings."""
        self._undo.clear()
        self._left = _STEPS
        if self._all(sources, targets):
            return True
        for name, before in reversed(self._undo):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def _all(self, sources: Sequence[Type], targets: Sequence[Type]) -> bool:
        return len(sources) == len(targets) and all(map(self._is_assignable, sources, targets))

    def _is_assignable(self, source: Type, target: Type) -> bool:
        if source is target:
            return True
        kind, other = source.kind, target.kind
        if other is TypeKind.PARAMETER:
            valid, bound = self._binds(source, target)
            if valid or bound:
                return valid
        if kind is TypeKind.PARAMETER:
            return self._binds(target, source)[0]
        if kind in _TAKES_ANYTHING or other in _TAKES_ANYTHING:
            return True
        if kind is TypeKind.NULL:
            return other in _NULLABLE or other is TypeKind.NULL
        if other is TypeKind.NULL:
            return kind in _NULLABLE
        if kind is TypeKind.TYPE:
            return other is TypeKind.TYPE
        if kind in _NESTED:
            self._step()
            return (
                kind is other
                and source.name == target.name
                and self._all(source.parameters, target.parameters)
            )
        return is_same(source, target)

    def _binds(self, value: Type, variable: Type) -> tuple[bool, bool]:
        """Report whether the variable may be `value`, and whether it was bound already."""
        if is_same(value, variable):
            return True, True
        bound = self._bound.get(variable.name)
        if bound is None:
            free = self._is_free_of(variable, value)
            if free:
                self._bind(variable.name, value)
            return free, False
        if is_same(value, bound):
            return True, True
        if not self._is_assignable(value, bound):
            return False, True
        general = most_general(value, bound)
        if self._is_free_of(variable, general):
            self._bind(variable.name, general)
        return True, True

    def _bind(self, name: str, value: Type) -> None:
        self._undo.append((name, self._bound.get(name)))
        self._bound[name] = value

    def _is_free_of(self, variable: Type, value: Type) -> bool:
        """Report whether the variable does not occur in the type: it would have no end."""
        if value.kind is TypeKind.PARAMETER:
            if value.name == variable.name:
                return False
            bound = self._bound.get(value.name)
            return bound is None or self._is_free_of(variable, bound)
        if value.parameters:
            self._step()
        return all(self._is_free_of(variable, inner) for inner in value.parameters)
