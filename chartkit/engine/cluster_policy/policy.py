"""A policy and its rules, parsed at the edge: the rest of the engine takes these types alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.engine.kubernetes.definitions import check_schema, check_served, definition_check
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.errors import ChartkitError
from chartkit.model import Body, FieldPath, Json, Location, Resource, RuleType

if TYPE_CHECKING:
    from chartkit.engine.kubernetes.selectors import LabelSelector


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
        return _RULE_TYPES.get(self, RuleType.VALIDATION)


_RULE_TYPES = {
    RuleKind.MUTATE: RuleType.MUTATION,
    RuleKind.MUTATE_EXISTING: RuleType.MUTATION,
    RuleKind.GENERATE: RuleType.GENERATION,
    RuleKind.VERIFY_IMAGES: RuleType.IMAGE_VERIFY,
}


class Subject(NamedTuple):
    """The subject of a filter: kind is `User`, `Group` or `ServiceAccount`."""

    kind: str
    name: str
    namespace: str = ""


class ResourceFilter(NamedTuple):
    """One block of a match or exclude: everything that it names must hold.

    has_user: whether it has a list of conditions on the user, even an empty one.
    """

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
    has_user: bool = False


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
        return tuple(kind for resource_filter in filters for kind in resource_filter.kinds)

    def filters(self) -> Iterator[tuple[FieldPath, ResourceFilter]]:
        """Yield its filters with their paths."""
        yield from ((("any", at), resource_filter) for at, resource_filter in enumerate(self.any))
        yield from ((("all", at), resource_filter) for at, resource_filter in enumerate(self.all))
        yield (), self.direct


class ActionOverride(NamedTuple):
    """Another failure action for some namespaces; None: for namespaces that match the selector."""

    action: str
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None


class Validation(NamedTuple):
    """The `validate` part of a rule; a null counts as missing.

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

    def filters(self) -> Iterator[tuple[FieldPath, ResourceFilter]]:
        """Yield the filters of match and exclude, with their paths in the rule."""
        for name, block in (("match", self.match), ("exclude", self.exclude)):
            if block is not None:
                yield from (((name, *path), part) for path, part in block.filters())


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


_DEFINITIONS: Final = {"kyverno.io/v1": "PolicyV1", "kyverno.io/v2beta1": "PolicyV2beta1"}
API_VERSIONS: Final = tuple(_DEFINITIONS)
KINDS: Final = ("ClusterPolicy", "Policy")


def read_policy(resource: Resource) -> Policy:
    """Reads a ClusterPolicy or Policy; raises CompileError with every problem of its schema."""
    check_schema(definition_check(_DEFINITIONS.get(resource.api_version, "PolicyV1")), resource)
    check_served(resource, API_VERSIONS, KINDS)
    body = resource.body
    spec: Body = body["spec"]
    webhook: Body = spec.get("webhookConfiguration") or {}
    namespaced = resource.kind == "Policy"
    return Policy(
        name=resource.name,
        namespace=(resource.namespace or DEFAULT_NAMESPACE) if namespaced else "",
        rules=tuple(read_rule(rule, resource.location) for rule in spec.get("rules") or ()),
        resource=resource,
        annotations=body["metadata"].get("annotations") or {},
        failure_action=spec.get("validationFailureAction") or "Audit",
        failure_action_overrides=_overrides(spec.get("validationFailureActionOverrides")),
        apply_one=spec.get("applyRules") == "One",
        admission=spec.get("admission") is not False,
        background=spec.get("background") is not False,
        match_conditions=tuple(webhook.get("matchConditions") or ()),
    )


def read_rule(body: Body, location: Location) -> Rule:
    """Reads a rule whose schema was checked."""
    exclude = body.get("exclude")
    validate = body.get("validate") or {}
    return Rule(
        name=body["name"],
        kind=rule_kind(body),
        match=read_match(body.get("match") or {}),
        exclude=read_match(exclude) if exclude else None,
        context=tuple(body.get("context") or ()),
        preconditions=body.get("preconditions"),
        cel_preconditions=tuple(body.get("celPreconditions") or ()),
        validate=Validation(
            message=validate.get("message") or "",
            pattern=validate.get("pattern"),
            any_pattern=validate.get("anyPattern"),
            deny=validate.get("deny"),
            foreach=tuple(validate.get("foreach") or ()),
            pod_security=validate.get("podSecurity"),
            manifests=validate.get("manifests"),
            cel=validate.get("cel"),
            failure_action=validate.get("failureAction"),
            failure_action_overrides=_overrides(validate.get("failureActionOverrides")),
            allow_existing_violations=validate.get("allowExistingViolations") is not False,
        ),
        mutate=body.get("mutate"),
        generate=body.get("generate"),
        verify_images=tuple(body.get("verifyImages") or ()),
        properties=body.get("reportProperties") or {},
        skip_background_requests=body.get("skipBackgroundRequests") is not False,
        location=location,
        body=body,
    )


def rule_kind(body: Body) -> RuleKind:
    """Return the handler of a rule, by the order in which Kyverno looks.

    `validate.assert` has had no effect since Kyverno 1.19, whatever stands beside it.
    """
    if mutate := body.get("mutate"):
        return RuleKind.MUTATE_EXISTING if mutate.get("targets") else RuleKind.MUTATE
    if body.get("generate"):
        return RuleKind.GENERATE
    if body.get("verifyImages"):
        return RuleKind.VERIFY_IMAGES
    validate = body.get("validate") or {}
    if (validate.get("manifests") or {}).get("attestors"):
        return RuleKind.MANIFESTS
    if any(value is not None for value in (validate.get("podSecurity") or {}).values()):
        return RuleKind.POD_SECURITY
    return RuleKind.VALIDATE if validate.get("cel") is None else RuleKind.CEL


def read_match(body: Body) -> Match:
    """Reads a match or exclude whose schema was checked."""
    return Match(
        any=tuple(_filter(block) for block in body.get("any") or ()),
        all=tuple(_filter(block) for block in body.get("all") or ()),
        direct=_filter(body),
    )


def _filter(body: Body) -> ResourceFilter:
    resources: Body = body.get("resources") or {}
    return ResourceFilter(
        kinds=tuple(resources.get("kinds") or ()),
        name=resources.get("name") or "",
        names=tuple(resources.get("names") or ()),
        namespaces=tuple(resources.get("namespaces") or ()),
        annotations=resources.get("annotations"),
        selector=_selector(resources.get("selector")),
        namespace_selector=_selector(resources.get("namespaceSelector")),
        operations=tuple(resources.get("operations") or ()),
        roles=tuple(body.get("roles") or ()),
        cluster_roles=tuple(body.get("clusterRoles") or ()),
        subjects=tuple(
            Subject(subject["kind"], subject["name"], subject.get("namespace") or "")
            for subject in body.get("subjects") or ()
        ),
        has_user=any(body.get(key) is not None for key in ("roles", "clusterRoles", "subjects")),
    )


def _selector(body: Json) -> LabelSelector | None:
    if body is None:
        return None
    from chartkit.engine.kubernetes.selectors import read_selector

    return read_selector(body)


def _overrides(body: Json) -> tuple[ActionOverride, ...]:
    return tuple(
        ActionOverride(
            override.get("action") or "",
            None if override.get("namespaces") is None else tuple(override["namespaces"]),
            _selector(override.get("namespaceSelector")),
        )
        for override in body or ()
    )


class ConditionsMalformed(ChartkitError):  # noqa: N818 - not loaded, as Kyverno says
    """Conditions that Kyverno cannot decode: it does not load the whole policy then."""
