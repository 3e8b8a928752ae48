"""Folds over lists and maps: what `all`, `map`, `filter` and their kin are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.interpreter.dispatch import ADDING, UNIT_WHEN_OPEN, Dispatch
from chartkit.engine.cel.interpreter.frame import CALL_WORK, Frame, Step, absorbed
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.printing import go_type, show
from chartkit.engine.cel.library.searching import is_found, searched
from chartkit.engine.cel.library.standard.containers import UNHASHABLE_BYTES, find_key
from chartkit.engine.cel.values import KeyedMap, OptionalValue, Value, equal, same
from chartkit.engine.reads import asks_outside
from chartkit.go.regexp import compile_regex

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40
"""The cost of making a list, map or object in addition to its parts: cel-go's figures."""

Entry = tuple[Step, Step, bool]
"""Key, value, and whether the value is an optional one that may be left out."""

Construct = Callable[[Mapping[str, Value]], Value]


def list_of_steps(elements: Sequence[Step], optional: frozenset[int]) -> Step:
    """`[a, ?b]`."""
    if optional:
        return _optional_list(tuple(elements), optional)

    def run(frame: Frame) -> Value:
        values = [element(frame) for element in elements]
        frame.cost += LIST_COST
        return values

    return run


def _optional_list(elements: tuple[Step, ...], optional: frozenset[int]) -> Step:
    def run(frame: Frame) -> Value:
        values = []
        for index, element in enumerate(elements):
            value = element(frame)
            if index not in optional:
                values.append(value)
            elif value.__class__ is not OptionalValue:
                raise CelError(
                    "cannot initialize optional list element from non-optional value " + show(value)
                )
            elif value.present:
                values.append(value.value)
        frame.cost += LIST_COST
        return values

    return run


def map_of_steps(entries: Sequence[Entry]) -> Step:
    """`{a: b, ?c: d}`; the last entry of a key wins."""

    def run(frame: Frame) -> Value:
        values: dict[Value, Value] = {}
        for key_step, value_step, optional in entries:
            key = key_step(frame)
            if key.__class__ is not str:
                values = keyed(values, key)
            _put(values, key, value_step(frame), optional)
        frame.cost += MAP_COST
        return values

    return run


def keyed(values: dict[Value, Value], key: Value) -> dict[Value, Value]:
    """The map as one that takes a key that is not a string; raises `CelError` for what is not a
    key."""
    if key.__class__ is bytes:
        raise Stopped(UNHASHABLE_BYTES)
    return values if isinstance(values, KeyedMap) else KeyedMap(values.items())


def struct_of_steps(fields: Sequence[tuple[str, Step, bool]], construct: Construct) -> Step:
    """`Name{field: value, ?other: value}`."""

    def run(frame: Frame) -> Value:
        values: dict[Value, Value] = {}
        for name, step, optional in fields:
            _put(values, name, step(frame), optional)
        frame.cost += STRUCT_COST
        return construct(values)  # type: ignore[arg-type]

    return run


def _put(values: dict[Value, Value], key: Value, value: Value, optional: bool) -> None:
    if not optional:
        values[key] = value
    elif value.__class__ is not OptionalValue:
        raise CelError(
            f"cannot initialize optional entry '{show(key)}' from non-optional value {show(value)}"
        )
    elif value.present:
        values[key] = value.value
    else:
        values.pop(key, None)


_UNSET: Final = object()
"""An accumulator whose first value was not needed yet."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The parts of a comprehension; accumulator, first, second: places in `Frame.slots`.

    second is None where the comprehension has one variable; condition where it always holds.
    """

    iter_range: Step
    accumulator: int
    first: int
    second: int | None
    condition: Step | None
    step: Step
    result: Step

    def run(self, frame: Frame) -> Value:
        """The value of the comprehension; an error in the accumulator counts where it is read."""
        items = self._items(self.iter_range(frame))
        slots = frame.slots
        slots[self.accumulator] = _UNSET
        first, second, condition, step = self.first, self.second, self.condition, self.step
        limit = frame.limit
        for key, value in items:
            slots[first] = key
            if second is not None:
                slots[second] = value
            if condition is not None and not _goes_on(condition, frame):
                break
            try:
                updated = step(frame)
            except CelError as failure:
                updated = absorbed(failure, frame)
            slots[self.accumulator] = updated
            if frame.cost > limit:
                frame.check()
        return self.result(frame)

    def _items(self, values: Value) -> Iterable[tuple[Value, Value]]:
        if self.second is None:
            if values.__class__ is list or isinstance(values, dict):
                return zip(values, repeat(None))
            raise CelError(f"got '{go_type(values)}', expected iterable type")
        if values.__class__ is list:
            return enumerate(values)
        if isinstance(values, dict):
            return ((key, values[key]) for key in values)
        raise CelError(f"unsupported comprehension range type: {go_type(values)}")


def _goes_on(condition: Step, frame: Frame) -> bool:
    try:
        return condition(frame) is not False
    except CelError as failure:
        # A condition that fails does not end the loop.
        absorbed(failure, frame)
        return True


def accumulated(slot: int, initial: Step) -> Step:
    """The step that reads an accumulator; its first value is computed when it is first read."""

    def run(frame: Frame) -> Value:
        value = frame.slots[slot]
        if value is _UNSET:
            try:
                value = initial(frame)
            except CelError as failure:
                value = absorbed(failure, frame)
            frame.slots[slot] = value
        if isinstance(value, CelError):
            # Else every round would lengthen the error's traceback.
            raise value.with_traceback(None)
        return value

    return run


def appended(accumulator: Step, elements: tuple[Step, ...]) -> Step:
    """`accumulator + [elements]` for a list that nothing else can see: extended in place."""

    def run(frame: Frame) -> Value:
        # As the addition of a new list: the accumulator is read (1), made (10), added (1).
        frame.cost += 1
        members: list[Value] = accumulator(frame)  # type: ignore[assignment]
        added = [element(frame) for element in elements]
        frame.cost += 11
        members.extend(added)
        return members

    return run


def inserted(accumulator: Step, key: Step, value: Step) -> Step:
    """`cel.@mapInsert(accumulator, key, value)` for a map that nothing else can see."""

    def run(frame: Frame) -> Value:
        frame.cost += 1
        entries: dict[Value, Value] = accumulator(frame)  # type: ignore[assignment]
        new_key = key(frame)
        new_value = value(frame)
        frame.cost += 1
        return _insert(entries, new_key, new_value)

    return run


def merged(accumulator: Step, more: Step) -> Step:
    """`cel.@mapInsert(accumulator, {…})` for a map that nothing else can see."""

    def run(frame: Frame) -> Value:
        frame.cost += 1
        entries: Value = accumulator(frame)
        added = more(frame)
        frame.cost += 1
        if not isinstance(added, dict):
            raise CelError("no such overload")
        for key, value in added.items():
            entries = _insert(entries, key, value)  # type: ignore[arg-type]
        return entries

    return run


def _insert(entries: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    if find_key(entries, key, _UNSET) is not _UNSET:
        raise CelError(f"insert failed: key {show(key)} already exists")
    if key.__class__ is not str:
        entries = keyed(entries, key)
    entries[key] = value
    return entries


_CONTAINERS = frozenset({list, dict})
_SIZED = frozenset({list, dict, str, bytes})
_QUICK = frozenset(
    {
        *("_+_", "_-_", "_*_", "_/_", "_%_", "-_", "!_", "_<_", "_<=_", "_>_", "_>=_", "@in"),
        *("size", "type", "dyn", "optional.of", "value", "hasValue", "cel.@mapInsert"),
        "__orValueCompat__",
    }
)
"""Functions that do not look at every member of a list or map that they get."""

COMPARING: Final = frozenset({"distinct", "sort", "@sortByAssociatedKeys"})
_HANDED_ON = frozenset({"__orValueCompat__", "dyn", "optional.of", "value"})
"""Functions that make nothing: how much is in their value is not read, so that objects of any size
share a verdict."""

_TEXT = 10
"""Characters of a text that is made that are as much work as one member."""


def call(dispatch: Dispatch, arguments: tuple[Step, ...], certain: bool) -> Step:
    """A call; certain: the checker left one overload only."""
    unit = not certain and dispatch.function in UNIT_WHEN_OPEN
    if len(arguments) == 1:
        argument = arguments[0]
        return lambda frame: apply(frame, dispatch, (argument(frame),), unit)
    if len(arguments) == 2:
        left, right = arguments
        return lambda frame: apply(frame, dispatch, (left(frame), right(frame)), unit)
    return lambda frame: apply(
        frame, dispatch, tuple([argument(frame) for argument in arguments]), unit
    )


def counted(members: Step) -> Step:
    """A list whose comparisons cel-go counts; for any other value its counter ends everything."""

    def run(frame: Frame) -> Value:
        kind, method = "*types.Err", "Add"
        try:
            value = members(frame)
        except CelError as error:
            if isinstance(error, Stopped) or not frame.limited:
                raise
        else:
            if value.__class__ is list or not frame.limited:
                return value
            kind = go_type(value)
            method = "Contains" if value.__class__ in ADDING else method
        problem = f"{kind} is not traits.Lister: missing method {method}"
        raise Stopped(f"internal error: interface conversion: {problem}")

    return run


def apply(frame: Frame, dispatch: Dispatch, args: tuple[Value, ...], unit: bool) -> Value:
    """The value of a call; unit: it costs 1. Raises `CelError`."""
    # A call costs, even one that fails.
    frame.cost += 1
    if dispatch.function not in _QUICK:
        frame.work(CALL_WORK)
        for arg in args:
            if arg.__class__ in _SIZED:
                frame.traverse(arg)
    overload = dispatch.find(args)
    if overload.hosted:
        asks_outside()
        result = overload.implementation(frame.host, *args)
    else:
        result = overload.implementation(*args)
    cost = overload.cost
    if cost is not None and not unit:
        spent = cost(args, result)
        if spent != costs.UNTOLD or frame.limited:
            frame.cost += spent - 1
            frame.check()
    if overload.work is not None:
        frame.work(overload.work(args, result))
    kind = result.__class__
    if kind in _SIZED and dispatch.function not in _HANDED_ON:
        frame.work(len(result) if kind is list or kind is dict else len(result) // _TEXT)
    return result


def membership(dispatch: Dispatch, value: Step, members: Step, certain: bool) -> Step:
    """`value in members`."""

    def run(frame: Frame) -> Value:
        args = (value(frame), members(frame))
        if args[1].__class__ is list:
            if args[0].__class__ in _CONTAINERS:
                frame.traverse(args[1])
            frame.work(len(args[1]))
        return apply(frame, dispatch, args, not certain)

    return run


def equals(left: Step, right: Step) -> Step:
    """`left == right`."""
    return lambda frame: equal(*compared(frame, left(frame), right(frame)))


def differs(left: Step, right: Step) -> Step:
    """`left != right`: also true where the comparison is refused."""
    return lambda frame: not same(*compared(frame, left(frame), right(frame)))


def compared(frame: Frame, left: Value, right: Value) -> tuple[Value, Value]:
    """The values of a comparison, whose cost counts."""
    kind = left.__class__
    if kind in _SIZED or kind is OptionalValue:
        frame.cost += costs.of_shorter((left, right), None)
        if kind in _CONTAINERS and right.__class__ is kind:
            frame.work(CALL_WORK)
            frame.traverse(left)
    else:
        frame.cost += 1
    return left, right


def matching(text: Step, pattern: str) -> Step:
    """`text.matches(pattern)` for a constant pattern, which is compiled once."""
    regex = compile_regex(pattern)

    def run(frame: Frame) -> Value:
        value = text(frame)
        if not isinstance(value, str):
            raise CelError("no such overload")
        frame.cost += costs.of_matching((value, pattern), None)
        frame.check()
        frame.work(CALL_WORK + searched(regex, len(value)))
        return is_found(regex, value)

    return run
