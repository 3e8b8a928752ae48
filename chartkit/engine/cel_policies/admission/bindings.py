"""Bindings of Kubernetes' admission policies: where a policy applies, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.reader import read_constraints
from chartkit.engine.kubernetes.definitions import (
    SCHEMA_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.policy_kinds import ADMISSION_VERSIONS, BINDINGS, is_binding
from chartkit.engine.kubernetes.selectors import Labelled, compile_selector, read_selector
from chartkit.engine.ports.cluster import Cluster, ObjectKey, labels_of
from chartkit.errors import CompileError, EvaluationError
from chartkit.model import Body, Diagnostic, Json, Resource, Severity, mapping_at


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding of a policy; constraints: None where it narrows nothing."""

    name: str
    constraints: Constraints | None
    params: ParamRef | None
    actions: tuple[str, ...]


def bindings_of(policy: CelPolicy, found: Sequence[Resource]) -> tuple[Binding, ...]:
    """The bindings of a policy, in order; raises CompileError for one that its schema refuses."""
    return tuple(
        _read(policy, one)
        for one in found
        if one.kind == f"{policy.kind}Binding"
        and mapping_at(one.body, "spec").get("policyName") == policy.name
    )


def unbound_faults(found: Sequence[Resource]) -> Iterator[Diagnostic]:
    """Yield what is wrong of bindings whose policy is not among some objects, or is not named.

    Those of a policy that is there are checked with it.
    """
    policies = {(each.kind, each.name) for each in found}
    for one in filter(is_binding, found):
        named = mapping_at(one.body, "spec").get("policyName")
        if isinstance(named, str) and (one.kind.removesuffix("Binding"), named) in policies:
            continue
        try:
            _check(one)
        except CompileError as error:
            yield from error.diagnostics
            continue
        if not named:
            message = f"{one.kind} {one.name}: spec.policyName: Required value"
            hint = "without it the binding binds nothing, and an API server refuses it"
            yield Diagnostic(
                SCHEMA_RULE, Severity.ERROR, message, one.location.within("/spec/policyName"), hint
            )


def _check(resource: Resource) -> None:
    check_served(resource, ADMISSION_VERSIONS, BINDINGS)
    check_schema(definition_check(resource.kind), resource)


def _read(policy: CelPolicy, resource: Resource) -> Binding:
    _check(resource)
    spec: Body = resource.body["spec"]
    constraints = read_constraints(spec.get("matchResources"))
    return Binding(
        resource.name,
        None if constraints is None else Constraints(constraints, selects_nothing=False),
        read_param_ref(policy.spec.get("paramKind"), spec.get("paramRef")),
        tuple(spec.get("validationActions") or ()),
    )


@dataclass(frozen=True, slots=True)
class ParamRef:
    """The objects of a kind that are a policy's parameters: one by its name, or all that a selector
    matches. namespace: empty for the request's own; fits: the selector, None for all; allows_none:
    whether a request is admitted if there are none."""

    api_version: str
    kind: str
    name: str
    namespace: str
    fits: Labelled | None
    allows_none: bool

    def find(self, namespace: str, cluster: Cluster) -> tuple[Body, ...]:
        """The parameters for a request in a namespace; raises EvaluationError, in the words of an
        API server, where the reference cannot be used."""
        if cluster.is_cluster_scoped(self.api_version, self.kind):
            if self.namespace:
                raise EvaluationError(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                )
            place = ""
        else:
            place = self.namespace or namespace
            if not place:
                raise EvaluationError(
                    "can't use namespaced paramRef to match cluster-scoped resources"
                )
        if self.name:
            found = cluster.find(ObjectKey(self.api_version, self.kind, place, self.name))
            return () if found is None else (found,)
        listed = cluster.select(self.api_version, self.kind, place, None)
        fits = self.fits
        return tuple(each for each in listed if fits is None or fits(labels_of(each)))


def read_param_ref(kind: Json, reference: Json) -> ParamRef | None:
    """Reads `paramKind` and `paramRef`, whose schemas were checked; None without both."""
    if not kind or not reference:
        return None
    selector = read_selector(reference.get("selector"))
    return ParamRef(
        api_version=kind.get("apiVersion") or "",
        kind=kind.get("kind") or "",
        name=reference.get("name") or "",
        namespace=reference.get("namespace") or "",
        fits=None if selector is None else compile_selector(selector),
        allows_none=reference.get("parameterNotFoundAction") == "Allow",
    )
