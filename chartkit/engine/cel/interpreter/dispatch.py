"""The overload of a function that answers a call, chosen by the classes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.declarations import Environment, Overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.standard.operators import UNDECLARED
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import LIST_DYN, Type, TypeKind
from chartkit.engine.cel.values import SCALARS, Opaque, OptionalValue, Struct, Uint, Value, type_of

_NUMBERS = frozenset({int, Uint, float})
_TIMES = frozenset({Duration, Timestamp})
_ORDERED = _NUMBERS | _TIMES | {str, bytes, bool}
_RECEIVERS = _TIMES | {str}
ADDING: Final = _NUMBERS | _TIMES | {str, bytes, list}

SINGLE: Final[dict[str, frozenset[type] | None]] = {
    "_+_": ADDING,
    "_-_": _NUMBERS | _TIMES,
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset({int, Uint}),
    "-_": frozenset({int, float, Duration, bool}),
    "!_": None,
    "_<_": _ORDERED,
    "_<=_": _ORDERED,
    "_>_": _ORDERED,
    "_>=_": _ORDERED,
    "@in": None,
    "size": frozenset({str, bytes, list, dict}),
    "matches": frozenset({str}),
    "contains": None,
    "endsWith": None,
    "startsWith": None,
    "type": None,
    "dyn": None,
    "sort": frozenset({list}),
    "@sortByAssociatedKeys": frozenset({list}),
}
"""Functions with one implementation for all overloads, and the classes that it takes first.

What it does not take fails with the function's name in the message, the rest without. For None the
message never has a name.
"""

UNIT_WHEN_OPEN: Final = frozenset(
    {
        *("_+_", "_<_", "_<=_", "_>_", "_>=_", "@in", "string", "bytes", "matches", "sort"),
        "@sortByAssociatedKeys",
    }
)
"""Functions whose cost is declared by overload: 1 where the checker left more than one open."""

_TAKES_ANY_LIST: Final = frozenset({"sort", "@sortByAssociatedKeys", "flatten"})
"""Functions that look into their lists themselves, and say what is wrong there."""

NO_OVERLOAD: Final = "no such overload"

Guard = Callable[[Value], bool]
"""The check of an argument when a function is called, as cel-go has it."""
_Candidate = tuple[Overload, tuple[Guard | None, ...]]

_CLASSES: Final[dict[TypeKind, type]] = {
    **{type_.kind: class_ for class_, type_ in SCALARS.items()},
    TypeKind.TIMESTAMP: Timestamp,
    TypeKind.DURATION: Duration,
    TypeKind.TYPE: Type,
}
_ANYTHING = frozenset({TypeKind.DYN, TypeKind.ANY, TypeKind.PARAMETER})


class Dispatch:
    """The overloads that a call may refer to."""

    __slots__ = ("_by_classes", "_candidates", "_shallow", "_silent", "function")

    def __init__(self, function: str, overloads: Sequence[Overload], silent: bool = False) -> None:
        self.function = function
        self._silent = silent
        parameters = [
            _lists_of_anything(overload) if function in _TAKES_ANY_LIST else overload.parameters
            for overload in overloads
        ]
        self._candidates: tuple[_Candidate, ...] = tuple(
            (overload, tuple(map(_guard_of, types)))
            for overload, types in zip(overloads, parameters, strict=True)
        )
        self._shallow = not any(_looks_inside(type_) for types in parameters for type_ in types)
        self._by_classes: dict[tuple[type, ...], Overload] = {}

    def bound(self, arguments: Sequence[Expr]) -> Dispatch:
        """The overloads for one call, where an implementation depends on what is written there."""
        overloads = [overload for overload, _ in self._candidates]
        if all(overload.bind is None for overload in overloads):
            return self
        made = [
            item if item.bind is None else replace(item, implementation=item.bind(arguments))
            for item in overloads
        ]
        return Dispatch(self.function, made)

    def silent(self) -> Dispatch:
        """The same overloads for a call with an error that does not name the function."""
        return Dispatch(self.function, [overload for overload, _ in self._candidates], silent=True)

    def find(self, args: Sequence[Value]) -> Overload:
        """The overload for some arguments; raises `CelError` if none accepts them."""
        if not self._shallow:
            return self._search(args)
        classes = tuple(map(type, args))
        overload = self._by_classes.get(classes)
        if overload is None:
            overload = self._search(args)
            if Struct not in classes:
                self._by_classes[classes] = overload
        return overload

    def _search(self, args: Sequence[Value]) -> Overload:
        count = len(args)
        for overload, guards in self._candidates:
            if len(guards) == count and all(
                guard is None or guard(arg) for guard, arg in zip(guards, args, strict=True)
            ):
                return overload
        raise CelError(NO_OVERLOAD) if self._silent else no_overload(self.function, args)


def _lists_of_anything(overload: Overload) -> tuple[Type, ...]:
    return tuple(LIST_DYN if item.kind is TypeKind.LIST else item for item in overload.parameters)


def no_overload(function: str, args: Sequence[Value]) -> CelError:
    """The error of a call that no overload answers, in the words of cel-go."""
    if function not in SINGLE:
        names = ", ".join(type_of(arg).name for arg in args)
        return CelError(f"no such overload: {function}({names})")
    classes = SINGLE[function]
    first = args[0].__class__
    if classes is None or first in classes or first in _RECEIVERS:
        return CelError(NO_OVERLOAD)
    return CelError(f"no such overload: {function}")


def dispatch_for(environment: Environment, function: str, ids: tuple[str, ...]) -> Dispatch:
    """The overloads that a checked call may refer to: the only one, or all of the function.

    Where the checker left several open, all of the name are tried, not only those: so does cel-go.
    """
    chosen = ids if len(ids) == 1 and function not in SINGLE else ()
    key = (Dispatch, function, *chosen)
    dispatch: Dispatch | None = environment.of_functions.get(key)
    if dispatch is None:
        overloads = environment.functions[function].overloads
        if chosen:
            overloads = tuple(overload for overload in overloads if overload.id == chosen[0])
        elif function in SINGLE:
            overloads += UNDECLARED.get(function, ())
        dispatch = environment.of_functions[key] = Dispatch(function, overloads)
    return dispatch


def _guard_of(type_: Type) -> Guard | None:
    """The check for a parameter of a type; None where every value passes.

    Types without their parameters are compared; of a list the first element and of a map the first
    entry are looked at, too.
    """
    kind = type_.kind
    if kind in _ANYTHING:
        return None
    if kind is TypeKind.LIST:
        inner = _guard_of(type_.parameters[0]) if type_.parameters else None
        if inner is None:
            return lambda value: value.__class__ is list
        return lambda value: value.__class__ is list and (not value or inner(value[0]))
    if kind is TypeKind.MAP:
        key, member = map(_guard_of, type_.parameters) if type_.parameters else (None, None)
        if key is None and member is None:
            return lambda value: isinstance(value, dict)

        def fits(value: Value) -> bool:
            if not isinstance(value, dict):
                return False
            for first in value:
                return (key is None or key(first)) and (member is None or member(value[first]))
            return True

        return fits
    if kind is TypeKind.WRAPPER:
        inside = _guard_of(type_.parameters[0])
        return None if inside is None else lambda value: value is None or inside(value)
    expected = _CLASSES.get(kind)
    if expected is None:
        return _named_guard(type_.name)
    return lambda value: value.__class__ is expected


def _looks_inside(type_: Type) -> bool:
    """Report whether the check needs more than the class of the value."""
    if type_.kind is TypeKind.STRUCT:
        return True
    return type_.kind in (TypeKind.LIST, TypeKind.MAP) and any(
        _guard_of(parameter) is not None for parameter in type_.parameters
    )


def _named_guard(name: str) -> Guard:
    def fits(value: Value) -> bool:
        if isinstance(value, Opaque):
            return value.cel_type.name == name
        if value.__class__ is OptionalValue:
            return name == "optional_type"
        return value.__class__ is Struct and value.type.name == name

    return fits
