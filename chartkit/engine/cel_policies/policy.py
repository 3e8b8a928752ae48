"""The policies whose rules are CEL, as they are read: what all kinds share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine.kubernetes.definitions import (
    SCHEMA_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.kinds import (
    ADMISSION,
    ADMISSION_VERSIONS,
    CRON_TEMPLATE,
    KINDS,
    KYVERNO_KINDS,
    NAMESPACED,
    TEMPLATE,
    UNEVALUATED_MODES,
    VERSIONS,
    CelKind,
)
from chartkit.engine.kubernetes.selectors import LabelSelector, read_selector
from chartkit.errors import CompileError
from chartkit.model import Body, Diagnostic, Json, Location, Resource, Severity, policy_id


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """A rule of match constraints: `*` means any group, version, resource or operation; names:
    empty for all; scope: `Cluster`, `Namespaced` or `*`."""

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
    """A validation; message: empty if it has none; message_expression: None likewise."""

    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""


FORMS: Final = {"": "", TEMPLATE: "autogen-defaults", CRON_TEMPLATE: "autogen-cronjobs"}
"""The names of the forms for pod controllers, by the path of the Pod template."""


@dataclass(frozen=True, slots=True)
class CelPolicy:
    """A policy; namespace: empty for one that speaks of all; constraints: None where it has none.

    ignores_errors: whether a match condition that fails to evaluate leaves the request alone;
    actions: `Deny`, `Audit`, `Warn`; controllers: the pod controllers that it is extended to as
    written, None for all; template: where the Pod template stands in the controllers that a form of
    the policy is for, empty for the policy itself; json: whether it judges any JSON and not
    admission requests;
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
    template: str = ""
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
        """Report whether its expressions may call services."""
        return not self.namespace or self.allows_http

    @property
    def id(self) -> str:
        """Return the identity among all policies (`RuleResult.policy_id`)."""
        return policy_id(self.kind_name, self.key)

    @property
    def form(self) -> str:
        """Return the name of the form for pod controllers; empty for the policy itself."""
        if self.of_templates:
            return "autogen-templates"
        return FORMS[self.template]

    @property
    def kind_name(self) -> str:
        """The kind as the document has it."""
        return self.resource.kind


def field_at(policy: CelPolicy, path: str, offset: int | None = None) -> Location:
    """The place of a field, `spec.validations[0].expression`, in the policy's document, or of a
    character of its text."""
    pointer = "/" + path.replace("[", "/").replace("]", "").replace(".", "/")
    whole = policy.resource.location
    location = whole.within(pointer) if offset is None else whole.character(pointer, offset)
    return replace(location, path=pointer)


MODE_RULE: Final = "policy-mode"
"""The id of diagnostics for policies that no controller of Kyverno evaluates."""


def read_cel_policy(resource: Resource) -> CelPolicy:
    """Reads a policy; raises CompileError with every problem of its schema."""
    kind = KINDS.get(resource.kind) or ADMISSION.get(resource.kind)
    if kind is None or kind in KYVERNO_KINDS:
        check_served(resource, VERSIONS, tuple(KINDS))
    else:
        check_served(resource, ADMISSION_VERSIONS, tuple(ADMISSION))
    check_schema(definition_check(str(kind)), resource)
    body = resource.body
    spec: Body = body["spec"]
    mode = (spec.get("evaluation") or {}).get("mode")
    if mode in UNEVALUATED_MODES:
        location = resource.location.within("/spec/evaluation/mode")
        message = f"spec.evaluation.mode: {mode} is not evaluated"
        hint = (
            f"Kyverno's authorization server asks policies of mode {mode}, its controllers do not"
        )
        raise CompileError([Diagnostic(MODE_RULE, Severity.ERROR, message, location, hint)])
    namespaced = resource.kind.startswith(NAMESPACED)
    policy = CelPolicy(
        kind=CelKind(str(kind)),
        name=resource.name,
        namespace=resource.namespace if namespaced else "",
        resource=resource,
        annotations=body["metadata"].get("annotations") or {},
    )
    policy = with_spec(policy, spec)
    # The definitions key these lists by name, so a server refuses a name that stands twice.
    problems = [
        *_doubles("variables", [expression.name for expression in policy.variables]),
        *_doubles("matchConditions", [expression.name for expression in policy.conditions]),
        *_doubles("validationActions", policy.actions),
        *_doubles("conditions", [row.name for row in named_expressions(spec.get("conditions"))]),
    ]
    if spec.get("generate") == []:
        problems.append("spec.generate: should have at least 1 items")
    if problems:
        where = policy.resource.location
        raise CompileError(
            [Diagnostic(SCHEMA_RULE, Severity.ERROR, text, where) for text in problems]
        )
    return policy


def with_spec(policy: CelPolicy, spec: Body) -> CelPolicy:
    """The policy with another specification, of a schema that was checked."""
    evaluation: Body = spec.get("evaluation") or {}
    autogen: Body = spec.get("autogen") or {}
    controllers = (autogen.get("podControllers") or {}).get("controllers")
    return replace(
        policy,
        spec=spec,
        constraints=read_constraints(spec.get("matchConstraints")),
        conditions=named_expressions(spec.get("matchConditions")),
        variables=named_expressions(spec.get("variables")),
        validations=read_validations(spec.get("validations")),
        annotations_made=named_expressions(spec.get("auditAnnotations"), "key", "valueExpression"),
        ignores_errors=spec.get("failurePolicy") == "Ignore",
        actions=tuple(spec.get("validationActions") or ()),
        controllers=None if controllers is None else tuple(controllers),
        json=evaluation.get("mode") == "JSON",
        admission=_enabled(evaluation, "admission"),
        background=_enabled(evaluation, "background"),
    )


def _enabled(evaluation: Body, key: str) -> bool:
    part: Body = evaluation.get(key) or {}
    return part.get("enabled") is not False


def named_expressions(
    body: Json, name: str = "name", expression: str = "expression"
) -> tuple[NamedExpression, ...]:
    """Reads a list of named expressions whose schema was checked."""
    return tuple(
        NamedExpression(item.get(name) or "", item.get(expression) or "") for item in body or ()
    )


def read_constraints(body: Json) -> MatchConstraints | None:
    """Reads `matchConstraints` or a binding's `matchResources`; None where there are none."""
    if body is None:
        return None
    return MatchConstraints(
        rules=tuple(_rule(rule) for rule in body.get("resourceRules") or ()),
        excluded=tuple(_rule(rule) for rule in body.get("excludeResourceRules") or ()),
        namespace_selector=read_selector(body.get("namespaceSelector")),
        object_selector=read_selector(body.get("objectSelector")),
    )


def _rule(body: Body) -> ResourceRule:
    return ResourceRule(
        groups=tuple(body.get("apiGroups") or ()),
        versions=tuple(body.get("apiVersions") or ()),
        resources=tuple(body.get("resources") or ()),
        operations=tuple(body.get("operations") or ()),
        names=tuple(body.get("resourceNames") or ()),
        scope=body.get("scope") or "*",
    )


def read_validations(body: Json) -> tuple[Validation, ...]:
    """Reads a list of validations whose schema was checked."""
    keys = ("expression", "message", "messageExpression", "reason")
    return tuple(Validation(*(row.get(key) or "" for key in keys)) for row in body or ())


def _doubles(field: str, names: Sequence[str]) -> list[str]:
    return [
        f'spec.{field}: Duplicate value: "{name}"'
        for name, count in Counter(names).items()
        if count > 1
    ]
