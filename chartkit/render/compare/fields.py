"""Two sets of objects compared: which were added, removed or changed, and each field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum, StrEnum
from typing import Final

from chartkit.documents.secret_values import without_secret_values
from chartkit.documents.yaml_dump import LIST_KEYS
from chartkit.model import Body, FieldPath, Json, Resource, path_text
from chartkit.render.compare.defaults import with_defaults


class Absent(Enum):
    """The value of a missing field, which null is not."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs.

    path: from the object's top; an item of a list is identified by its name if it has one, else by
    its position, in the newer object unless it was removed; before, after: `ABSENT` if it is
    missing.
    """

    path: FieldPath
    before: Json | Absent
    after: Json | Absent

    @property
    def name(self) -> str:
        """The path as text: `spec.rules[check-team].validate`."""
        return path_text(self.path)


def differences(before: Json, after: Json, path: FieldPath = ()) -> Iterator[FieldChange]:
    """Yield every field that differs; for a field on one side only, the outermost one."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _of_maps(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        key = _key(before, after)
        if key:
            items = [{str(item[key]): item for item in each} for each in (before, after)]
            yield from _of_items(items[0], items[1], path)
            return
        old, new = ([_canonical(item) for item in items] for items in (before, after))
        for tag, low, high, start, end in SequenceMatcher(None, old, new, False).get_opcodes():
            if tag != "equal":
                yield from _replaced(before[low:high], after[start:end], low, start, path)
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield FieldChange(path, before, after)


def _of_maps(
    before: Mapping[str, Json], after: Mapping[str, Json], path: FieldPath
) -> Iterator[FieldChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        step = (*path, key)
        if key not in after:
            yield FieldChange(step, before[key], ABSENT)
        elif key not in before:
            yield FieldChange(step, ABSENT, after[key])
        else:
            yield from differences(before[key], after[key], step)


def _of_items(
    before: Mapping[str, Json], after: Mapping[str, Json], path: FieldPath
) -> Iterator[FieldChange]:
    """Yield changes of items that have names. Their order is a difference only if the names are the
    same: it has a meaning for environment variables and rules."""
    yield from _of_maps(before, after, path)
    if set(before) == set(after) and list(before) != list(after):
        yield FieldChange(path, list(before), list(after))


def _replaced(
    before: Sequence[Json], after: Sequence[Json], low: int, start: int, path: FieldPath
) -> Iterator[FieldChange]:
    """Yield changes of replaced items, which are compared in pairs; surplus items are added or
    removed."""
    pairs = min(len(before), len(after))
    for offset in range(pairs):
        yield from differences(before[offset], after[offset], (*path, start + offset))
    for offset in range(pairs, len(before)):
        yield FieldChange((*path, low + offset), before[offset], ABSENT)
    for offset in range(pairs, len(after)):
        yield FieldChange((*path, start + offset), ABSENT, after[offset])


def _key(before: list[Json], after: list[Json]) -> str:
    """Return the key that identifies every item of both lists; empty if none does."""
    items = [*before, *after]
    if not all(isinstance(item, Mapping) for item in items):
        return ""
    for key in LIST_KEYS:
        if all(isinstance(item.get(key), str | int) for item in items) and all(
            len({str(item[key]) for item in each}) == len(each) for each in (before, after)
        ):
            return key
    return ""


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """The identity of an object across renders: its API group (not the version), kind, namespace
    and name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


class What(StrEnum):
    """The change of an object."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that differs; before, after: its bodies, None on the side that lacks it; fields:
    the differences of a changed object, with defaults filled in on both sides. Values of Secrets
    are hidden everywhere."""

    identity: Identity
    what: What
    before: Body | None
    after: Body | None
    fields: tuple[FieldChange, ...] = ()


def identity(resource: Resource) -> Identity:
    """Return the identity of an object."""
    group, slash, _ = resource.api_version.partition("/")
    return Identity(group if slash else "", resource.kind, resource.namespace, resource.name)


def compare(before: Iterable[Resource], after: Iterable[Resource]) -> list[ObjectChange]:
    """Return every object that differs, ordered by identity."""
    old, new = ({identity(each): each.body for each in side} for side in (before, after))
    changes = (_change(each, old.get(each), new.get(each)) for each in sorted({*old, *new}))
    return [change for change in changes if change is not None]


def _change(identity: Identity, before: Body | None, after: Body | None) -> ObjectChange | None:
    before, after = without_secret_values(before, after), without_secret_values(after, before)
    if before is None or after is None:
        what = What.ADDED if before is None else What.REMOVED
        before, after = (each and with_defaults(each, each)[0] for each in (before, after))
        return ObjectChange(identity, what, before, after)
    if before == after:
        return None
    before, after = with_defaults(before, after)
    fields = tuple(differences(before, after))
    return ObjectChange(identity, What.CHANGED, before, after, fields) if fields else None
