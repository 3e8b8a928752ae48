"""Fields of a ClusterPolicy by Kyverno version, and their defaults.

Source: the ClusterPolicy CRD (kyverno.io/v1) of each release from 1.6.0 to 1.19.0, compared with
the one before it. An API server drops a field that its CRD does not know without a word, so that a
field written too early means something else than its author thinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from chartkit.kyverno.versions import Version
from chartkit.model import Body, Json

OLDEST = Version(1, 6)
"""The oldest Kyverno that chartkit knows; a field without an entry here was there already."""

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Field:
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


def _field(
    path: str, since: str, default: Json = None, without: Json = None, optional: bool = False
) -> Field:
    major, _, minor = since.partition(".")
    version = Version(int(major), int(minor))
    steps = path.replace("[]", ".*").split(".")
    return Field(tuple(steps), version, default, without, optional)


_CONTEXTS = (
    "rules[].context[]",
    "rules[].validate.foreach[].context[]",
    "rules[].mutate.foreach[].context[]",
    "rules[].mutate.targets[].context[]",
    "rules[].generate.foreach[].context[]",
)
_CONTEXT_FIELDS = (
    ("variable", "1.7"),
    ("apiCall.data", "1.10"),
    ("apiCall.service", "1.10"),
    ("imageRegistry.imageRegistryCredentials", "1.11"),
    ("globalReference", "1.12"),
    ("apiCall.default", "1.13"),
    ("apiCall.service.headers", "1.13"),
)
_FILTERS = tuple(
    f"rules[].{clause}.{block}"
    for clause in ("match", "exclude")
    for block in ("any[].resources", "all[].resources", "resources")
)
_CONDITIONS = (
    "rules[].validate.foreach[].preconditions",
    "rules[].mutate.foreach[].preconditions",
    "rules[].verifyImages[].attestations[].conditions[]",
)
_ENTRIES = (
    "rules[].validate.manifests.attestors[].entries[]",
    "rules[].verifyImages[].attestors[].entries[]",
    "rules[].verifyImages[].attestations[].attestors[].entries[]",
)
_ENTRY_FIELDS = (
    ("keys.kms", "1.9"),
    ("keys.secret", "1.9"),
    ("keys.ctlog", "1.11"),
    ("keys.rekor.ignoreTlog", "1.11"),
    ("keys.rekor.pubkey", "1.11"),
    ("keyless.ctlog", "1.11"),
    ("keyless.rekor.ignoreTlog", "1.11"),
    ("keyless.rekor.pubkey", "1.11"),
    ("keys.ctlog.tsaCertChain", "1.13"),
    ("keyless.ctlog.tsaCertChain", "1.13"),
    ("certificates.ctlog.tsaCertChain", "1.13"),
    ("keyless.issuerRegExp", "1.13"),
    ("keyless.subjectRegExp", "1.13"),
    ("certificates.ctlog", "1.11"),
    ("certificates.rekor.ignoreTlog", "1.11"),
    ("certificates.rekor.pubkey", "1.11"),
)

SPEC_FIELDS: tuple[Field, ...] = (
    _field("background", "1.6", default=True),
    _field("applyRules", "1.8", without="All"),
    _field("admission", "1.11", default=True, without=True),
    _field("useServerSideApply", "1.11", without=False),
    _field("webhookConfiguration", "1.12"),
    _field("webhookConfiguration.failurePolicy", "1.13"),
    _field("webhookConfiguration.timeoutSeconds", "1.13"),
    _field("emitWarning", "1.13", default=False, without=False),
    _field("mutateExistingOnPolicyUpdate", "1.7", without=False),
    _field("generateExistingOnPolicyUpdate", "1.7", without=False),
    _field("generateExisting", "1.10", without=False),
    _field("validationFailureActionOverrides[].namespaceSelector", "1.10"),
)
RULE_FIELDS: tuple[Field, ...] = (
    _field("rules[].imageExtractors", "1.7"),
    _field("rules[].imageExtractors[][].jmesPath", "1.10"),
    _field("rules[].celPreconditions", "1.11"),
    _field("rules[].skipBackgroundRequests", "1.12", default=True, optional=True),
    _field("rules[].reportProperties", "1.13", optional=True),
    *(_field(f"{place}.operations", "1.10") for place in _FILTERS),
    *(_field(f"{place}.{path}", since) for place in _CONTEXTS for path, since in _CONTEXT_FIELDS),
    *(
        _field(f"{place}.{block}[].message", "1.10", optional=True)
        for place in _CONDITIONS
        for block in ("all", "any")
    ),
    *(
        _field(f"{place}.apiCall.method", "1.10", default="GET", without="GET")
        for place in _CONTEXTS
    ),
)
VALIDATE_FIELDS: tuple[Field, ...] = (
    _field("rules[].validate.podSecurity", "1.8"),
    _field("rules[].validate.podSecurity.exclude[].restrictedField", "1.12"),
    _field("rules[].validate.podSecurity.exclude[].values", "1.12"),
    _field("rules[].validate.manifests", "1.8"),
    _field("rules[].validate.foreach[].foreach", "1.9"),
    _field("rules[].validate.cel", "1.11"),
    _field("rules[].validate.cel.generate", "1.14", default=False, without=False),
    _field("rules[].validate.assert", "1.13"),
    _field("rules[].validate.failureAction", "1.13"),
    _field("rules[].validate.failureActionOverrides", "1.13"),
    _field("rules[].validate.allowExistingViolations", "1.13", default=True, without=True),
)
OTHER_FIELDS: tuple[Field, ...] = (
    _field("rules[].mutate.targets", "1.7"),
    _field("rules[].mutate.foreach[].foreach", "1.9"),
    _field("rules[].mutate.foreach[].order", "1.10"),
    _field("rules[].mutate.targets[].context", "1.10"),
    _field("rules[].mutate.targets[].preconditions", "1.10"),
    _field("rules[].mutate.targets[].uid", "1.11"),
    _field("rules[].mutate.targets[].selector", "1.13"),
    _field("rules[].mutate.mutateExistingOnPolicyUpdate", "1.13"),
    _field("rules[].generate.cloneList", "1.8"),
    _field("rules[].generate.uid", "1.11"),
    _field("rules[].generate.orphanDownstreamOnPolicyDelete", "1.12", without=False),
    _field("rules[].generate.foreach", "1.13"),
    _field("rules[].generate.generateExisting", "1.13"),
    _field("rules[].verifyImages[].attestors", "1.7"),
    _field("rules[].verifyImages[].imageReferences", "1.7"),
    _field("rules[].verifyImages[].additionalExtensions", "1.7"),
    _field("rules[].verifyImages[].mutateDigest", "1.7", default=True),
    _field("rules[].verifyImages[].required", "1.7", default=True),
    _field("rules[].verifyImages[].verifyDigest", "1.7", default=True),
    _field("rules[].verifyImages[].attestations[].attestors", "1.9"),
    _field("rules[].verifyImages[].type", "1.10"),
    _field("rules[].verifyImages[].attestations[].type", "1.11"),
    _field("rules[].verifyImages[].imageRegistryCredentials", "1.11"),
    _field("rules[].verifyImages[].useCache", "1.11", default=True, without=True),
    _field("rules[].verifyImages[].skipImageReferences", "1.12"),
    _field("rules[].verifyImages[].attestations[].name", "1.13"),
    _field("rules[].verifyImages[].cosignOCI11", "1.13", without=False),
    _field("rules[].verifyImages[].failureAction", "1.13"),
    _field("rules[].verifyImages[].validate", "1.13"),
    *(_field(f"{place}.{path}", since) for place in _ENTRIES for path, since in _ENTRY_FIELDS),
    *(
        _field(f"{place}.keys.signatureAlgorithm", "1.9", default="sha256", without="sha256")
        for place in _ENTRIES
    ),
    *(
        _field(f"{place}.signatureAlgorithm", "1.13", default="sha256", without="sha256")
        for place in _ENTRIES
    ),
)
FIELDS = SPEC_FIELDS + RULE_FIELDS + VALIDATE_FIELDS + OTHER_FIELDS
"""Every field younger than OLDEST, and every one that the API server fills in."""


@dataclass(frozen=True, slots=True)
class Use:
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
    young = [entry for entry in FIELDS if entry.since > OLDEST]
    return uses(policy, young)


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
    return rows(FIELDS)


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
