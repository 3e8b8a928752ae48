"""JSON Patches (RFC 6902) from an object to the one that policies made of it."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Body, FieldPath, Json, pointer_of, same


def patch(before: Json, after: Json, path: FieldPath = ()) -> Iterator[Body]:
    """Yield operations that make one value of another; none where they are equal.

    Lists are compared from both ends, so that an element put in front moves none of the others.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": pointer_of(*path, key)}
        for key, value in after.items():
            if key in before:
                yield from patch(before[key], value, (*path, key))
            else:
                yield {"op": "add", "path": pointer_of(*path, key), "value": value}
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    elif not same(before, after):
        yield {"op": "replace", "path": pointer_of(*path), "value": after}


def _lists(before: list[Json], after: list[Json], path: FieldPath) -> Iterator[Body]:
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and same(before[first], after[first]):
        first += 1
    last = 0
    while last < shorter - first and same(before[-1 - last], after[-1 - last]):
        last += 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    common = min(len(old), len(new))
    for index in range(common):
        yield from patch(old[index], new[index], (*path, first + index))
    for index in reversed(range(common, len(old))):
        yield {"op": "remove", "path": pointer_of(*path, first + index)}
    for index in range(common, len(new)):
        yield {"op": "add", "path": pointer_of(*path, first + index), "value": new[index]}
