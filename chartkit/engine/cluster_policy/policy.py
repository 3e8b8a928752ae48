"""A policy and its rules, parsed at the edge: the rest of the engine takes these types alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.model import Body, Json, Location, Resource, RuleType


class RuleKind(StrEnum):
    """The type of a rule, one for each handler."""

    VALIDATE = "validate"
    POD_SECURITY = "validate.podSecurity"
    MANIFESTS = "validate.manifests"
    CEL = "validate.cel"
    MUTATE = "mutate"
    MUTATE_EXISTING = "mutate.targets"
    GENERATE = "generate"
    VERIFY_IMAGES = "verifyImages"

    @property
    def type(self) -> RuleType:
        """The rule type that results carry."""
        return _TYPES.get(self, RuleType.VALIDATION)


_TYPES = {
    RuleKind.MUTATE: RuleType.MUTATION,
    RuleKind.MUTATE_EXISTING: RuleType.MUTATION,
    RuleKind.GENERATE: RuleType.GENERATION,
    RuleKind.VERIFY_IMAGES: RuleType.IMAGE_VERIFY,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a filter: kind is `User`, `Group` or `ServiceAccount`."""

    kind: str
    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """One block of a match or exclude: everything that it names must hold."""

    kinds: tuple[str, ...] = ()
    name: str = ""
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    annotations: Mapping[str, str] | None = None
    selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    operations: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    cluster_roles: tuple[str, ...] = ()
    subjects: tuple[Subject, ...] = ()

    @property
    def has_user(self) -> bool:
        """Return whether it speaks of who asks."""
        return bool(self.roles or self.cluster_roles or self.subjects)


@dataclass(frozen=True, slots=True)
class Match:
    """A match or exclude: any of the filters, or all of them, or the one written directly."""

    any: tuple[ResourceFilter, ...] = ()
    all: tuple[ResourceFilter, ...] = ()
    direct: ResourceFilter = field(default_factory=ResourceFilter)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind that it names, as written."""
        filters = (self.direct, *self.all, *self.any)
        return tuple(kind for one in filters for kind in one.kinds)


@dataclass(frozen=True, slots=True)
class ActionOverride:
    """Another failure action for some namespaces; None: for those that the selector takes."""

    action: str
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """The `validate` part of a rule; what is written as null counts as missing.

    pattern, any_pattern, deny, foreach, pod_security, manifests, cel: as written;
    at most one decides (deny before pattern before any_pattern before foreach).
    """

    message: str = ""
    pattern: Json = None
    any_pattern: Json = None
    deny: Body | None = None
    foreach: tuple[Body, ...] = ()
    pod_security: Body | None = None
    manifests: Body | None = None
    cel: Body | None = None
    failure_action: str | None = None
    failure_action_overrides: tuple[ActionOverride, ...] = ()
    allow_existing_violations: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. context, preconditions, mutate, generate, verify_images: as written; body: the
    whole rule as written."""

    name: str
    kind: RuleKind
    match: Match
    exclude: Match | None = None
    context: tuple[Body, ...] = ()
    preconditions: Json = None
    cel_preconditions: tuple[Body, ...] = ()
    validate: Validation = field(default_factory=Validation)
    mutate: Body | None = None
    generate: Body | None = None
    verify_images: tuple[Body, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    skip_background_requests: bool = True
    location: Location = field(default_factory=lambda: Location("<memory>"))
    body: Body = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """A ClusterPolicy or Policy of kyverno.io.

    namespace: empty for a ClusterPolicy; match_conditions: in CEL, for the webhook.
    """

    name: str
    rules: tuple[Rule, ...]
    resource: Resource
    namespace: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    failure_action: str = "Audit"
    failure_action_overrides: tuple[ActionOverride, ...] = ()
    apply_one: bool = False
    admission: bool = True
    background: bool = True
    match_conditions: tuple[Body, ...] = ()

    @property
    def key(self) -> str:
        """The name in results: `name`, or `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def id(self) -> str:
        """Return the identity among all policies (`RuleResult.policy_id`)."""
        return self.key
