"""Two sets of objects compared: which were added, removed, changed, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from chartkit.compare.defaults import with_defaults
from chartkit.compare.fields import FieldChange, differences
from chartkit.documents.secret_values import without_secret_values
from chartkit.model import Body, Resource


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
