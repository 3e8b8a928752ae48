"""Variables and what is selected from them: `a.b[c].?d`, `has(a.b)`.

A chain of selections is resolved as a whole: after its first optional part every part is, and
only the end becomes an optional value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.frame import Frame, Step
from chartkit.engine.cel.library.printing import go_type, show
from chartkit.engine.cel.library.standard.containers import find_key, list_index
from chartkit.engine.cel.values import NONE, KeyedMap, OptionalValue, Struct, Uint, Value

MISSING: Final = object()
"""The result of `find` for a missing value."""

_JSON_PATCH: Final = "JSONPatch"
KEY_CLASSES: Final = frozenset({str, int, Uint, bool, float})
"""The values that select a member."""


def find(value: Value, key: Value) -> Value:
    """The member under a key or index, or `MISSING`; raises `CelError` for an invalid index."""
    kind = value.__class__
    if kind is dict:
        if key.__class__ is str:
            return value.get(key, MISSING)  # type: ignore[attr-defined]
        return find_key(value, key, MISSING)  # type: ignore[arg-type]
    if kind is list:
        index = list_index(key)
        return value[index] if 0 <= index < len(value) else MISSING  # type: ignore[arg-type, index]
    if isinstance(value, dict):
        if isinstance(value, KeyedMap):
            return find_key(value, key, MISSING)
        if key.__class__ is not str:
            return MISSING
        # Of a map that computes its values `get` and `in` would not ask for one.
        try:
            return value[key]
        except KeyError:
            return MISSING
    if isinstance(value, Struct):
        if value.unset and key not in value.unset:
            if value.type.name == _JSON_PATCH:
                raise _NoFieldOfPatchError(key)
            raise CelError(f"no such field: {key}" if isinstance(key, str) else "no such overload")
        return value.fields.get(key, MISSING) if isinstance(key, str) else MISSING
    return MISSING


class _NoFieldOfPatchError(CelError):
    """A key that no operation of a JSON patch has: Kubernetes has words of its own for it, which
    differ for a selection and for a question whether there is one."""

    def __init__(self, key: Value) -> None:
        self.key = key if isinstance(key, str) else f"%!s({go_type(key)}={show(key)})"
        super().__init__(f"unsupported field: {self.key}")


def member(value: Value, key: Value) -> Value:
    """The member under a key or index; raises `CelError` if it is missing."""
    try:
        result = find(value, key)
    except _NoFieldOfPatchError as error:
        raise CelError(f"unsupported indexer: {error.key}") from None
    if result is MISSING:
        if isinstance(value, Struct) and isinstance(key, str) and key in value.unset:
            return value.unset[key]
        reason = "index out of bounds" if value.__class__ is list else "no such key"
        raise CelError(f"{reason}: {show(key)}")
    return result


@dataclass(frozen=True, slots=True)
class Qualifier:
    """One selection: a constant key, or a step that computes it."""

    id: int
    key: Value
    computed: Step | None
    optional: bool

    def value(self, frame: Frame) -> Value:
        """The key; raises `CelError` for a value that cannot be a key."""
        if self.computed is None:
            return self.key
        key = self.computed(frame)
        if key.__class__ not in KEY_CLASSES:
            raise CelError(f"invalid qualifier type: {go_type(key)}")
        return key


@dataclass(frozen=True, slots=True)
class Attribute:
    """A value and the selections from it; named: the value is a variable, which costs when read."""

    id: int
    base: Step
    qualifiers: tuple[Qualifier, ...] = ()

    def select(self, qualifier: Qualifier) -> Attribute:
        """This attribute with one more selection."""
        return Attribute(qualifier.id, self.base, (*self.qualifiers, qualifier))

    def resolve(self, frame: Frame) -> Value:
        """The value at the end of the chain; an optional one where a part of it is optional."""
        value, optional = self._walk(frame, self.qualifiers)
        if value is MISSING:
            return NONE
        return OptionalValue(True, value) if optional else value

    def present(self, frame: Frame) -> Value:
        """Report whether the last selection finds something: `has`."""
        value, _ = self._walk(frame, self.qualifiers[:-1])
        if value is MISSING:
            return False
        frame.cost += 1
        return find(value, self.qualifiers[-1].key) is not MISSING

    def _walk(self, frame: Frame, qualifiers: tuple[Qualifier, ...]) -> tuple[Value, bool]:
        value = self.base(frame)
        optional = value.__class__ is OptionalValue
        if optional:
            if not value.present:  # type: ignore[attr-defined]
                return MISSING, True
            value = value.value  # type: ignore[attr-defined]
        if frame.trace is not None:
            # The same with the value of each part
            for qualifier in qualifiers:
                key = qualifier.value(frame)
                optional = optional or qualifier.optional
                frame.cost += not optional
                try:
                    value = find(value, key) if optional else member(value, key)
                except CelError as failure:
                    frame.trace[qualifier.id] = failure
                    raise
                if value is MISSING:
                    frame.trace[qualifier.id] = NONE
                    return MISSING, True
                frame.cost += optional
                frame.trace[qualifier.id] = OptionalValue(True, value) if optional else value
            return value, optional
        for qualifier in qualifiers:
            key = qualifier.key if qualifier.computed is None else qualifier.value(frame)
            if optional or qualifier.optional:
                optional = True
                value = find(value, key)
                if value is MISSING:
                    return MISSING, True
                frame.cost += 1
            else:
                frame.cost += 1
                value = member(value, key)
        return value, optional


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? yes : no`; what is selected from it is selected from the branch taken."""

    id: int
    condition: Step
    yes: Selectable
    no: Selectable

    def select(self, qualifier: Qualifier) -> Choice:
        """This choice with one more selection on either branch."""
        return Choice(
            qualifier.id, self.condition, self.yes.select(qualifier), self.no.select(qualifier)
        )

    def present(self, frame: Frame) -> Value:
        """Report whether the last selection finds something in the branch that is taken."""
        return _chosen(self.condition, self.yes.present, self.no.present)(frame)


Selectable: TypeAlias = Attribute | Choice


def resolved(selectable: Selectable) -> Step:
    """The step that resolves an attribute; frequent kinds have a direct one."""
    if isinstance(selectable, Choice):
        return _chosen(selectable.condition, resolved(selectable.yes), resolved(selectable.no))
    if not selectable.qualifiers:
        return selectable.base
    return selectable.resolve


def _chosen(condition: Step, yes: Step, no: Step) -> Step:
    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        raise CelError("no such overload")

    return run


def evaluated(selectable: Selectable) -> Step:
    """The step that resolves an attribute as an expression of its own, and counts its cost."""
    resolve = resolved(selectable)
    if isinstance(selectable, Choice):
        return resolve

    def run(frame: Frame) -> Value:
        frame.cost += 1
        return resolve(frame)

    return run
