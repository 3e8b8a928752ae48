"""The JSON pointers that causes come to, the most telling one first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.engine.cel.tracing.datum import Absence, Causes, Datum, Each, Guard, Read, Whole
from chartkit.engine.cel.values import Value
from chartkit.model import FieldPath, pointer_of

MOST_POINTERS: Final = 32
"""More fields than this help nobody."""
_MOST_VISITS: Final = 5_000
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
    only asked for, or of a condition, is left out if something in it was read.
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
    ordered = [*there, *(path for path in named if path not in there), *rest]
    presence = {**conditions, **direct}
    if any(presence[path] for path in ordered):
        # A field that was asked for is implied by what was read in it.
        inner = {path[:size] for path in ordered for size in range(len(path))}
        ordered = [path for path in ordered if not (presence[path] and path in inner)]
    return tuple(map(_pointer, ordered[:MOST_POINTERS]))


def _pointer(path: FieldPath) -> str:
    text = "/" + "/".join(map(str, path))
    if "~" in text or text.count("/") != len(path):
        return pointer_of(*path)
    return text


class _Reads:
    """The reads in causes by their path, in their order, and whether only presence was asked for.

    direct: those that decided; conditions: those that led to them.
    """

    def __init__(self) -> None:
        self.direct: dict[FieldPath, bool] = {}
        self.conditions: dict[FieldPath, bool] = {}
        self._seen: set[tuple[int, bool]] = set()
        self._left = _MOST_VISITS

    def visit(self, causes: Causes) -> None:
        """Find the reads; a tree that has too many parts is left where it is."""
        waiting: list[tuple[Causes, bool]] = [(causes, False)]
        while waiting and self._left:
            self._left -= 1
            part, is_condition = waiting.pop()
            if isinstance(part, Datum):
                path, inner = part.path, part.causes
                if path:
                    self._add(path, is_condition)
                elif path is None and not is_condition:
                    inner = _decisive(inner)
                if inner:
                    waiting.append((inner, is_condition))
            elif isinstance(part, Read):
                self._add(part.path, is_condition, part.presence)
            elif isinstance(part, Guard):
                waiting.append((part.causes, True))
            elif (id(part), is_condition) not in self._seen:
                self._seen.add((id(part), is_condition))
                waiting += [(each, is_condition) for each in reversed(_parts(part))]

    def _add(self, path: FieldPath, is_condition: bool, presence: bool = False) -> None:
        reads = self.conditions if is_condition else self.direct
        if path:
            reads[path] = reads.get(path, True) and presence


def _decisive(causes: Causes) -> Causes:
    """Return the causes of a value that has no path: those of conditions if they alone decided."""
    if isinstance(causes, Guard):
        return causes.causes
    if causes.__class__ is tuple and Guard in map(type, causes):
        return causes if _speaks(causes) else _opened(causes)
    return causes


def _parts(causes: Causes) -> Sequence[Causes]:
    """Return what a node of causes consists of."""
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
    """Return whether any field of the object is among causes."""
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
    """Return whether there are other causes than those of conditions."""
    if causes.__class__ is tuple:
        return any(_speaks(each) for each in causes)  # type: ignore[arg-type]
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
