"""Fields of a ClusterPolicy by Kyverno version, and their defaults (`policy_fields.yaml`).

An API server silently drops a field that its CRD does not know, so that a field written too early
means something else than its author thinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from chartkit.documents.reader import read_file
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Json

OLDEST = Version(1, 6)
"""The oldest Kyverno that chartkit knows; a field without an entry here was there already."""

_DATA = Path(__file__).with_name("policy_fields.yaml")
_ABSENT = object()


class Field(NamedTuple):
    """One field of a policy's spec.

    path: keys below spec, `*` for every item of a list or value of a map; since: the version that
    brought it; default: what the API server writes where it is missing (None: nothing); without:
    the value that means the same as not having the field, so that an older version may go without
    it; optional: whether an older version may go without it whatever its value.
    """

    path: tuple[str, ...]
    since: Version
    default: Json = None
    without: Json = None
    optional: bool = False

    @property
    def text(self) -> str:
        """The path as people write it: `rules[].validate.podSecurity`."""
        return ".".join(self.path).replace(".*", "[]")


def read_fields(rows: Mapping[str, str | Body], below: str = "") -> Iterator[Field]:
    """Yield the fields of a mapping in `policy_fields.yaml`; below: a path before theirs."""
    for path, given in rows.items():
        about: Body = {"since": given} if isinstance(given, str) else dict(given)
        steps = f"{below}{path}".replace("[]", ".*").split(".")
        yield Field(tuple(steps), parse_version(about.pop("since"), "Kyverno"), **about)


@cache
def tables() -> Body:
    """Return the tables of `policy_fields.yaml`."""
    body: Body = read_file(_DATA)[0].body
    return body


@cache
def fields() -> tuple[Field, ...]:
    """Return every field younger than OLDEST, and every one that the API server fills in."""
    return tuple(
        field
        for block in tables()["clusterPolicy"]
        for place in block.get("in", ("",))
        for field in read_fields(block["fields"], f"{place}." if place else "")
    )


class Use(NamedTuple):
    """A field that a policy uses, and where: the path with its list indexes, below the policy."""

    field: Field
    path: tuple[str | int, ...]


def minimum_version(policy: Body) -> tuple[Version, Use | None]:
    """The oldest Kyverno that reads every field of a policy, and the field that says so.

    policy: a kyverno.io/v1 ClusterPolicy or Policy. What an older version may go without does not
    count.
    """
    newest: Use | None = None
    for use in needed(policy):
        if newest is None or use.field.since > newest.field.since:
            newest = use
    return (newest.field.since, newest) if newest else (OLDEST, None)


def needed(policy: Body) -> Iterator[Use]:
    """The uses of fields that a version before theirs cannot go without."""
    return uses(policy, (entry for entry in fields() if entry.since > OLDEST))


def uses(policy: Body, table: Iterable[Field]) -> Iterator[Use]:
    """Return the uses of a table's fields that older versions cannot do without."""
    spec = policy.get("spec")
    for entry in table:
        if entry.optional:
            continue
        for path, value in _find(spec, entry.path, ("spec",)):
            if entry.without is None or value != entry.without:
                yield Use(entry, path)


def _find(
    node: Json, steps: Sequence[str], path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    if not steps:
        yield path, node
    elif steps[0] == "*":
        for key, item in _items(node):
            yield from _find(item, steps[1:], (*path, key))
    elif isinstance(node, dict):
        value = node.get(steps[0], _ABSENT)
        if value is not _ABSENT:
            yield from _find(value, steps[1:], (*path, steps[0]))


def _items(node: Json) -> Iterable[tuple[str | int, Json]]:
    if isinstance(node, dict):
        return node.items()
    return enumerate(node) if isinstance(node, list) else ()


def as_json() -> list[Body]:
    """The table for the chart's own template, which applies it to every policy; see `rows`."""
    return rows(fields())


def rows(table: Iterable[Field]) -> list[Body]:
    """A table for a chart's templates.

    since: a number that orders (1012 for 1.12); default and without stand where there are such.
    """
    found: list[Body] = []
    for entry in table:
        row: Body = {
            "path": list(entry.path),
            "since": entry.since.number,
            "version": str(entry.since),
        }
        for key in ("default", "without"):
            if getattr(entry, key) is not None:
                row[key] = getattr(entry, key)
        found.append(row | ({"optional": True} if entry.optional else {}))
    return found
