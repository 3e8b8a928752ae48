"""Operators that not all operands decide: `&&`, `||`, `? :`, `orValue`, `in`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.cel import ast
from chartkit.engine.cel.tracing.datum import (
    NO_CAUSES,
    UNKNOWN,
    Absence,
    Causes,
    Datum,
    Each,
    Guard,
    Read,
    Step,
    TraceError,
    TraceFrame,
    Whole,
    because,
    elements,
    unknown,
)
from chartkit.engine.cel.values import OptionalValue, Value, same
from chartkit.model import FieldPath, pointer_of

MOST_POINTERS: Final = 32
"""The most fields of a report; more do not help."""
_MOST_VISITS: Final = 5_000
_MOST_ALTERNATIVES: Final = 3
_IDENTITY: Final = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "generateName"),
    }
)
"""Fields that an expression asks in order to find out what the object is."""


def pointers(causes: Causes, root: Value) -> tuple[str, ...]:
    """Return the JSON pointers of causes, the most telling one first.

    Fields that are there come before missing ones, and these before the fields of conditions and
    those that identify the object; otherwise the order of the expression holds. A field that was
    only asked for, or of a condition, is left out if something in it was read, and so is one that
    comes after something in it.
    """
    reads = _Reads()
    reads.visit(causes)
    direct, conditions = reads.direct, reads.conditions
    if len(direct) == 1 and not conditions:
        return tuple(map(_pointer, direct))
    inner = {path[:size] for path in direct for size in range(len(path))}
    named = [path for path in direct if path not in _IDENTITY]
    rest = [path for path in direct if path in _IDENTITY]
    rest += [path for path in conditions if path not in inner and path not in direct]
    if not named:
        named, rest = rest, []
    there = [path for path in named if _exists(root, path)]
    absent = [path for path in named if path not in there]
    # Where an object lacks more fields than a report lists, any of which would have done, and what
    # it has instead is named, they are left out.
    together = Counter(path[:-1] for path in absent if path not in reads.alone)
    common = {path[:size] for path in there for size in range(len(path))}
    many = {above for above, count in together.items() if count > _MOST_ALTERNATIVES} & common
    ordered = [
        *there,
        *[path for path in absent if path in reads.alone or path[:-1] not in many],
        *rest,
    ]
    presence = {**conditions, **direct}
    # A field that was asked for is implied by what was read in it; so is one that comes after it.
    inner = {path[:size] for path in ordered for size in range(len(path))}
    above: set[FieldPath] = set()
    telling = []
    for path in ordered:
        if path not in above and not (presence[path] and path in inner):
            telling.append(path)
            above.update(path[:size] for size in range(len(path)))
    return tuple(map(_pointer, telling[:MOST_POINTERS]))


def _pointer(path: FieldPath) -> str:
    text = "/" + "/".join(map(str, path))
    if "~" in text or text.count("/") != len(path):
        return pointer_of(*path)
    return text


class _Reads:
    """The reads in causes by their path, in their order, and whether only presence was asked for.

    direct: those that decided; conditions: those that led to them; alone: those that were not only
    read where any of several would have done.
    """

    def __init__(self) -> None:
        self.direct: dict[FieldPath, bool] = {}
        self.conditions: dict[FieldPath, bool] = {}
        self.alone: set[FieldPath] = set()
        self._seen: set[tuple[int, bool, bool]] = set()
        self._left = _MOST_VISITS

    def visit(self, causes: Causes) -> None:
        """Find the reads; a tree that has too many parts is left where it is."""
        waiting: list[tuple[Causes, bool, bool]] = [(causes, False, False)]
        while waiting and self._left:
            self._left -= 1
            part, is_condition, is_choice = waiting.pop()
            if isinstance(part, Datum):
                path, inner = part.path, part.causes
                if path:
                    self._add(path, is_condition, is_choice)
                elif path is None and not is_condition:
                    # The causes of a value without a path: the conditions' if they alone decided.
                    if isinstance(inner, Guard):
                        inner = inner.causes
                    elif inner.__class__ is tuple and Guard in map(type, inner):
                        inner = inner if _speaks(inner) else _opened(inner)
                if inner:
                    waiting.append((inner, is_condition, is_choice))
            elif isinstance(part, Read):
                self._add(part.path, is_condition, is_choice, part.presence)
            elif isinstance(part, Guard):
                waiting.append((part.causes, True, is_choice))
            elif (id(part), is_condition, is_choice) not in self._seen:
                self._seen.add((id(part), is_condition, is_choice))
                is_choice = is_choice or isinstance(part, Absence)
                waiting += [(cause, is_condition, is_choice) for cause in reversed(_parts(part))]

    def _add(
        self, path: FieldPath, is_condition: bool, is_choice: bool, presence: bool = False
    ) -> None:
        reads = self.conditions if is_condition else self.direct
        if path:
            reads[path] = reads.get(path, True) and presence
            if not is_choice:
                self.alone.add(path)


def _parts(causes: Causes) -> Sequence[Causes]:
    if isinstance(causes, Each):
        pairs = zip(causes.results, causes.elements, strict=True)
        return [result if tells(result) else element for result, element in pairs]
    if isinstance(causes, Absence):
        if tells(causes.lacking):
            return (causes.lacking, Guard(causes.others))
        return (causes.others,)
    if isinstance(causes, Whole):
        members, (held, lacking) = causes
        if not members:
            return (lacking,)
        if tells(held):
            return (held, Guard(tuple(members)))
        return (*members, Guard(lacking))
    if isinstance(causes, Guard):
        return (causes.causes,)
    if isinstance(causes, Datum):
        return (causes.causes,)
    return () if isinstance(causes, Read) else causes


def tells(causes: Causes) -> bool:
    """Report whether any field of the object is among causes."""
    waiting = [causes]
    for _ in range(_MOST_VISITS):
        if not waiting:
            break
        part = waiting.pop()
        if part.__class__ is Read or part.__class__ is Datum:
            if part.path:
                return True
            if part.__class__ is Read:
                continue
        if isinstance(part, Each):
            waiting += part.elements
            waiting += part.results
        elif isinstance(part, Whole):
            waiting += [*part.members, *part.extent]
        elif isinstance(part, Absence):
            waiting += part
        else:
            waiting += _parts(part)
    return False


def _speaks(causes: Causes) -> bool:
    """Report whether there are causes besides the conditions'."""
    if causes.__class__ is tuple:
        return any(_speaks(cause) for cause in causes)  # type: ignore[arg-type]
    return causes.__class__ is not Guard and tells(causes)


def _opened(causes: Causes) -> Causes:
    """Return the causes of conditions as those that decided."""
    if causes.__class__ is tuple:
        return tuple(map(_opened, causes))  # type: ignore[arg-type]
    return causes.causes if isinstance(causes, Guard) else causes


def _exists(root: Value, path: FieldPath) -> bool:
    for step in path:
        if isinstance(root, dict):
            if step not in root:
                return False
            root = root[step]
        elif isinstance(root, list) and isinstance(step, int) and 0 <= step < len(root):
            root = root[step]
        else:
            return False
    return True


_NO_OVERLOAD = "no such overload"


def attempt(step: Step, frame: TraceFrame) -> Datum | TraceError:
    """A part's value, or its `TraceError`; errors that nothing absorbs are raised."""
    try:
        return step(frame)
    except TraceError as error:
        return error


def conjunction(left: Step, right: Step) -> Step:
    """`left && right`; where both are true, conditions come first as a rule."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        first = attempt(left, frame)
        if isinstance(first, Datum) and first.value is False and not tells(first):
            # No field of the object changes that.
            return Datum(False)
        second = attempt(right, frame)
        if isinstance(first, Datum) and isinstance(second, Datum):
            if first.value is True and second.value is True:
                return Datum(True, None, (second, first))
            if first.value is False and second.value is True:
                return first
            if first.value is True and second.value is False:
                return second
        return _joined(first, second, False)

    return run


def disjunction(left: Step, right: Step, *, left_first: bool = False) -> Step:
    """`left || right`; what is required comes last as a rule, after conditions and exceptions.

    left_first: here it is the other way round.
    """

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        first, second = attempt(left, frame), attempt(right, frame)
        if left_first:
            first, second = second, first
        return _joined(second, first, True)

    return run


def _joined(first: Datum | TraceError, second: Datum | TraceError, decisive: bool) -> Datum:
    """The value of a junction that a decisive operand decides."""
    operands = (first, second)
    deciding = [item for item in operands if isinstance(item, Datum) and item.value is decisive]
    if deciding:
        return deciding[0] if len(deciding) == 1 else Datum(decisive, None, tuple(deciding))
    for operand in operands:
        if isinstance(operand, TraceError):
            raise operand.with_traceback(None)
    values = tuple([operand for operand in operands if isinstance(operand, Datum)])
    open_ = [value for value in values if value.value is UNKNOWN]
    if open_:
        return unknown(*open_)
    if any(value.value is decisive or value.value.__class__ is not bool for value in values):
        raise TraceError(_NO_OVERLOAD, values)
    return Datum(not decisive, None, Absence(NO_CAUSES, values) if decisive else values)


def is_guard(expr: ast.Expr) -> bool:
    """Report whether an operand of `||` has the form "there is no such field"."""
    if not isinstance(expr, ast.Call) or expr.function != "!_":
        return False
    asked = expr.args[0]
    return isinstance(asked, ast.Select) and asked.test_only


def choice(condition: Step, yes: Step, no: Step) -> Step:
    """`condition ? yes : no`."""

    def run(frame: TraceFrame) -> Datum:
        asked = condition(frame)
        if asked.value is UNKNOWN:
            return unknown(asked)
        if asked.value.__class__ is not bool:
            raise TraceError(_NO_OVERLOAD, asked)
        try:
            chosen = (yes if asked.value else no)(frame)
        except TraceError as error:
            raise TraceError(error.message, (error.causes, Guard(asked))) from None
        return _chosen(asked.causes, chosen) or because(chosen, asked)

    return run


def _chosen(why: Causes, chosen: Datum) -> Datum | None:
    """Return a value that a question about one field led to, where that is the field of the value
    itself, or the value is empty and takes its place; else None."""
    if not isinstance(why, Read | Datum) or not why.path:
        return None
    path, present = why.path, isinstance(why, Read) and why.presence
    if isinstance(why, Datum) and why.causes:
        return None
    if chosen.path is not None:
        return chosen if chosen.path[: len(path)] == path else None
    stands = chosen.is_constant and not chosen.value and not present
    return Datum(chosen.value, path) if stands else None


def otherwise(unwraps: bool, left: Step, right: Step) -> Step:
    """`left.or(right)`, or `left.orValue(right)`, which gives what is in an optional (unwraps)."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional = left(frame)
        value, path, causes, members, extent = optional
        if value is UNKNOWN:
            return optional
        if not isinstance(value, OptionalValue):
            raise TraceError(_NO_OVERLOAD, optional)
        if not value.present:
            return _default(optional, right(frame))
        return Datum(value.value, path, causes, members, extent) if unwraps else optional

    return run


def or_any_value(left: Step, right: Step) -> Step:
    """Kyverno's `left.orValue(right)`: a value that is not an optional is taken as it is, and the
    other one must have a value in any case."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional, default = left(frame), right(frame)
        value, path, causes, members, extent = optional
        if not isinstance(value, OptionalValue):
            return optional
        if value.present:
            return Datum(value.value, path, causes, members, extent)
        return _default(optional, default)

    return run


def _default(absent: Datum, default: Datum) -> Datum:
    """Return a default with the provenance of the value that is absent."""
    if default.is_constant:
        return Datum(default.value, absent.path, absent.causes)
    return default._replace(causes=(default.causes, absent))


def membership(
    call: Callable[[TraceFrame, Datum, Datum], Datum], value: Step, members: Step
) -> Step:
    """`value in members`; call: the function."""

    def run(frame: TraceFrame) -> Datum:
        searched, container = value(frame), members(frame)
        result = call(frame, searched, container)
        key, held, path = searched.value, container.value, container.path
        if isinstance(held, dict) and isinstance(key, str) and path is not None:
            read = Read((*path, key), presence=result.value is True)
            return Datum(result.value, None, (read, Guard((container.causes, searched))))
        if result.value is True and isinstance(held, list) and not container.is_constant:
            where = [element for element in elements(container) if same(element.value, key)]
            return Datum(True, None, (*where, searched))
        return result

    return run
