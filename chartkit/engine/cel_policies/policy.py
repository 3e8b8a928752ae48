"""The policies whose rules are CEL, as they are read: what all kinds share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chartkit.engine.kubernetes.policy_kinds import CelKind
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.model import Body, Location, Resource, policy_id


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """A rule of match constraints: `*` stands for any group, version, resource or operation;
    names: empty for all; scope: `Cluster`, `Namespaced` or `*`."""

    groups: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    scope: str = "*"


@dataclass(frozen=True, slots=True)
class MatchConstraints:
    """The match constraints of a policy; without rules, it matches everything."""

    rules: tuple[ResourceRule, ...] = ()
    excluded: tuple[ResourceRule, ...] = ()
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class NamedExpression:
    """A match condition, a variable or an audit annotation: a name and an expression."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Validation:
    """A validation; message: empty for none; message_expression: None for none."""

    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CelPolicy:
    """A policy; namespace: empty for one that speaks of all; constraints: None where it has none.

    ignores_errors: whether a match condition that fails to evaluate leaves the request alone;
    actions: `Deny`, `Audit`, `Warn`; controllers: the pod controllers that it is extended to as
    written, None for all; json: whether it judges any JSON and not admission requests;
    of_templates: whether it is a policy's form for workloads of custom kinds, which is asked about
    the Pod templates found in them; allows_http: whether policies of a namespace may call services;
    body: the specification, for what one kind alone has.
    """

    kind: CelKind
    name: str
    namespace: str
    resource: Resource
    constraints: MatchConstraints | None = None
    conditions: tuple[NamedExpression, ...] = ()
    variables: tuple[NamedExpression, ...] = ()
    validations: tuple[Validation, ...] = ()
    annotations_made: tuple[NamedExpression, ...] = ()
    ignores_errors: bool = False
    actions: tuple[str, ...] = ()
    controllers: tuple[str, ...] | None = None
    json: bool = False
    admission: bool = True
    background: bool = True
    of_templates: bool = False
    allows_http: bool = False
    spec: Body = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Return the name in results: `name`, or `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def may_call(self) -> bool:
        """Return whether its expressions may call services."""
        return not self.namespace or self.allows_http

    @property
    def id(self) -> str:
        """Return the identity among all policies (`RuleResult.policy_id`)."""
        return policy_id(self.kind_name, self.key)

    @property
    def kind_name(self) -> str:
        """The kind as the document has it."""
        return self.resource.kind


def field_at(policy: CelPolicy, path: str, offset: int | None = None) -> Location:
    """The place of a field, `spec.validations[0].expression`, in the policy's document, or of a
    character of its text."""
    pointer = "/" + path.replace("[", "/").replace("]", "").replace(".", "/")
    whole = policy.resource.location
    place = whole.within(pointer) if offset is None else whole.character(pointer, offset)
    return replace(place, path=pointer)
