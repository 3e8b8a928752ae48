"""Fields of policies by Kyverno version, and their defaults (`policy_fields.yaml`); the kinds of
policies.kyverno.io, and the API version of each.

An API server silently drops a field that its CRD does not know, so that a field written too early
means something else than its author thinks. Policies in CEL are written in the API version that
holds most of the kind: 1.16 serves v1beta1 too, but its MutatingPolicy there has other fields than
every other version's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from chartkit.documents.reader import read_file
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Json, mapping_at, mappings_at

OLDEST = Version(1, 6)
"""The oldest Kyverno that chartkit knows; a field without an entry here was there already."""

_DATA = Path(__file__).with_name("policy_fields.yaml")
_ABSENT = object()


GROUP = "policies.kyverno.io"
NAMESPACED = "Namespaced"
_PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


class ServedVersion(NamedTuple):
    """From which Kyverno version on a kind is written in which API version."""

    since: Version
    version: str


def _served(*pairs: tuple[int, str]) -> tuple[ServedVersion, ...]:
    return tuple(ServedVersion(Version(1, minor), version) for minor, version in pairs)


KINDS: Mapping[str, tuple[ServedVersion, ...]] = {
    "ValidatingPolicy": _served((14, "v1alpha1"), (17, "v1")),
    "ImageValidatingPolicy": _served((14, "v1alpha1"), (17, "v1")),
    "MutatingPolicy": _served((15, "v1alpha1"), (17, "v1")),
    "GeneratingPolicy": _served((15, "v1alpha1"), (17, "v1")),
    "DeletingPolicy": _served((15, "v1alpha1"), (17, "v1")),
    "NamespacedValidatingPolicy": _served((16, "v1beta1"), (17, "v1")),
    "NamespacedImageValidatingPolicy": _served((16, "v1beta1"), (17, "v1")),
    "NamespacedDeletingPolicy": _served((16, "v1beta1"), (17, "v1")),
    "NamespacedMutatingPolicy": _served((17, "v1")),
    "NamespacedGeneratingPolicy": _served((17, "v1")),
}
"""The kinds, those of a namespace among them; the newest version stands last."""


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
        for prefix in block.get("in", ("",))
        for field in read_fields(block["fields"], f"{prefix}." if prefix else "")
    )


@cache
def cel_fields() -> Mapping[str, tuple[Field, ...]]:
    """Return the fields below spec that are younger than their kind, by kind."""
    table = tables()["celPolicies"]
    return {kind: tuple(read_fields(entry["fields"])) for kind, entry in table.items()}


@cache
def settings() -> Mapping[str, Mapping[str, Version]]:
    """Return the settings of each kind in the chart's values, and the first Kyverno with each."""
    return {
        kind: {key: parse_version(since, "Kyverno") for key, since in entry["settings"].items()}
        for kind, entry in tables()["celPolicies"].items()
    }


class Use(NamedTuple):
    """A field that a policy uses, and where: the path with its list indexes, below the policy."""

    field: Field
    path: tuple[str | int, ...]


def minimum_version(policy: Body) -> tuple[Version, Use | None]:
    """Return the oldest Kyverno that reads every field of a policy, and the field that says so
    (None: the kind itself). policy: a kyverno.io/v1 ClusterPolicy or Policy, or of one of KINDS.
    What an older version may go without does not count."""
    kind = str(policy.get("kind"))
    if kind in KINDS:
        oldest = KINDS[kind][0].since
        needs = uses(policy, cel_fields()[kind.removeprefix(NAMESPACED)])
    else:
        oldest, needs = OLDEST, needed(policy)
    newest = None
    for use in needs:
        if use.field.since > oldest:
            oldest, newest = use.field.since, use
    return oldest, newest


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
        if isinstance(node, dict):
            items: Iterable[tuple[str | int, Json]] = node.items()
        else:
            items = enumerate(node) if isinstance(node, list) else ()
        for key, item in items:
            yield from _find(item, steps[1:], (*path, key))
    elif isinstance(node, dict):
        value = node.get(steps[0], _ABSENT)
        if value is not _ABSENT:
            yield from _find(value, steps[1:], (*path, steps[0]))


def as_json() -> list[Body]:
    """The table for the chart's own template, which applies it to every policy; see `rows`."""
    return rows(fields())


def rows(table: Iterable[Field]) -> list[Body]:
    """A table for a chart's templates. since: a number that orders (1012 for 1.12); default and
    without stand where there are such."""
    bodies: list[Body] = []
    for entry in table:
        row: Body = {
            "path": list(entry.path),
            "since": entry.since.number,
            "version": str(entry.since),
        }
        for key in ("default", "without"):
            if getattr(entry, key) is not None:
                row[key] = getattr(entry, key)
        bodies.append(row | ({"optional": True} if entry.optional else {}))
    return bodies


def cel_as_json() -> Body:
    """The tables for the chart's templates; versions are numbers that order (1016 for 1.16)."""
    return {
        "kinds": {
            kind: [{"since": row.since.number, "version": row.version} for row in served]
            for kind, served in KINDS.items()
        },
        "fields": {kind: rows(table) for kind, table in cel_fields().items()},
        "settings": {
            kind: {key: since.number for key, since in keys.items()}
            for kind, keys in settings().items()
        },
    }


def extends_to_controllers(body: Body) -> bool:
    """Report whether a policy matches Pods only, so that it is extended to their controllers.
    Source: Kyverno's `CanAutoGen` of CEL policies."""
    kind = str(body["kind"]).removeprefix(NAMESPACED)
    if "autogen" not in settings()[kind]:
        return False
    constraints = mapping_at(body, "spec", "matchConstraints")
    rules = mappings_at(constraints, "resourceRules")
    excluding = constraints.get("objectSelector") or constraints.get("excludeResourceRules")
    if excluding or len(rules) != 1:
        return False
    [rule] = rules
    return not rule.get("resourceNames") and all(
        rule.get(key) == value for key, value in _PODS.items()
    )
