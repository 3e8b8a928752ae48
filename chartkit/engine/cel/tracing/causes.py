"""The reads that a value depends on, and the pointers that they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from chartkit.engine.cel.values import Value
from chartkit.model import pointer_of

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices from an object to one of its values."""


class Read(NamedTuple):
    """A value of the object that was read; presence: it was only asked for, and is there."""

    path: Path
    presence: bool = False


class Guard(NamedTuple):
    """Reads that led to the others, such as those of a condition: named after them."""

    causes: Causes


Causes: TypeAlias = "Read | Guard | tuple[Causes, ...]"
"""A tree of reads in the order of their weight; parts of it may be shared."""

NO_CAUSES: Final[tuple[Causes, ...]] = ()

MOST_POINTERS: Final = 32
"""More fields than this help nobody."""
_MOST_VISITS: Final = 20_000
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


def join(causes: Sequence[Causes]) -> Causes:
    """Return several causes as one."""
    kept = tuple([each for each in causes if each])
    return kept[0] if len(kept) == 1 else kept


def guard(causes: Causes) -> Causes:
    """Return causes as those of a condition."""
    return causes if not causes or causes.__class__ is Guard else Guard(causes)


def pointers(causes: Causes, root: Value) -> tuple[str, ...]:
    """Return the JSON pointers of causes, the most telling one first.

    Fields that are there come before missing ones, and these before the fields of conditions and
    those that identify the object; otherwise the order of the expression holds. A field that was
    only asked for, or of a condition, is left out if something in it was read.
    """
    direct, conditions = _reads(causes)
    inner = {read.path[:size] for read in direct for size in range(len(read.path))}
    conditions = [read for read in conditions if read.path not in inner]
    named = [read for read in direct if read.path not in _IDENTITY]
    rest = [read for read in direct if read.path in _IDENTITY] + conditions
    if not named:
        named, rest = rest, []
    there = [read for read in named if _exists(root, read.path)]
    missing = [read for read in named if read not in there]
    found = list(dict.fromkeys(read.path for read in _without_guards([*there, *missing, *rest])))
    return tuple(pointer_of(*path) for path in found[:MOST_POINTERS])


def _reads(causes: Causes) -> tuple[list[Read], list[Read]]:
    """Return the reads that decided, and those of conditions, each once and in their order."""
    direct: dict[Read, None] = {}
    conditions: dict[Read, None] = {}
    waiting: list[tuple[Causes, bool]] = [(causes, False)]
    seen: set[tuple[int, bool]] = set()
    for _ in range(_MOST_VISITS):
        if not waiting:
            break
        part, guards = waiting.pop()
        if isinstance(part, Read):
            if part.path:
                (conditions if guards else direct)[part] = None
        elif isinstance(part, Guard):
            waiting.append((part.causes, True))
        elif (id(part), guards) not in seen:
            seen.add((id(part), guards))
            waiting += [(each, guards) for each in reversed(part)]
    return list(direct), [read for read in conditions if read not in direct]


def _without_guards(reads: Sequence[Read]) -> list[Read]:
    """Return reads without those of presence that another one implies."""
    inner = {path[:size] for path, _ in reads for size in range(len(path))}
    inner |= {path for path, presence in reads if not presence}
    return [read for read in reads if not (read.presence and read.path in inner)]


def _exists(root: Value, path: Path) -> bool:
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
