"""From a document to a `Policy`: the schema is checked first, then every part gets its type."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cluster_policy.policy import (
    ActionOverride,
    Match,
    Policy,
    ResourceFilter,
    Rule,
    RuleKind,
    Subject,
    Validation,
)
from chartkit.engine.kubernetes.definitions import check_schema, check_served, definition_check
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.engine.kubernetes.selectors import read_selector
from chartkit.model import Body, Json, Location, Resource

_TYPES: Final = {"kyverno.io/v1": "PolicyV1", "kyverno.io/v2beta1": "PolicyV2beta1"}
API_VERSIONS: Final = tuple(_TYPES)
KINDS: Final = ("ClusterPolicy", "Policy")


def read_policy(resource: Resource) -> Policy:
    """Reads a ClusterPolicy or Policy; raises CompileError with every problem of its schema."""
    check_schema(definition_check(_TYPES.get(resource.api_version, "PolicyV1")), resource)
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
    return Rule(
        name=body["name"],
        kind=rule_kind(body),
        match=read_match(body.get("match") or {}),
        exclude=read_match(exclude) if exclude else None,
        context=tuple(body.get("context") or ()),
        preconditions=body.get("preconditions"),
        cel_preconditions=tuple(body.get("celPreconditions") or ()),
        validate=_validation(body.get("validate") or {}),
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
    if validate.get("podSecurity"):
        return RuleKind.POD_SECURITY
    return RuleKind.CEL if validate.get("cel") else RuleKind.VALIDATE


def read_match(body: Body) -> Match:
    """Reads a match or exclude whose schema was checked."""
    return Match(
        any=tuple(_filter(one) for one in body.get("any") or ()),
        all=tuple(_filter(one) for one in body.get("all") or ()),
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
        selector=read_selector(resources.get("selector")),
        namespace_selector=read_selector(resources.get("namespaceSelector")),
        operations=tuple(resources.get("operations") or ()),
        roles=tuple(body.get("roles") or ()),
        cluster_roles=tuple(body.get("clusterRoles") or ()),
        subjects=tuple(
            Subject(one["kind"], one["name"], one.get("namespace") or "")
            for one in body.get("subjects") or ()
        ),
    )


def _overrides(body: Json) -> tuple[ActionOverride, ...]:
    return tuple(
        ActionOverride(
            one.get("action") or "",
            None if one.get("namespaces") is None else tuple(one["namespaces"]),
            read_selector(one.get("namespaceSelector")),
        )
        for one in body or ()
    )


def _validation(body: Body) -> Validation:
    return Validation(
        message=body.get("message") or "",
        pattern=body.get("pattern"),
        any_pattern=body.get("anyPattern"),
        deny=body.get("deny"),
        foreach=tuple(body.get("foreach") or ()),
        pod_security=body.get("podSecurity"),
        manifests=body.get("manifests"),
        cel=body.get("cel"),
        failure_action=body.get("failureAction"),
        failure_action_overrides=_overrides(body.get("failureActionOverrides")),
        allow_existing_violations=body.get("allowExistingViolations") is not False,
    )
