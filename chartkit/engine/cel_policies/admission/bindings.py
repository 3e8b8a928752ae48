"""Bindings of Kubernetes' admission policies: where a policy applies, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel_policies.admission.params import ParamRef, read_param_ref
from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.reader import ADMISSION, ADMISSION_VERSIONS, read_constraints
from chartkit.engine.kubernetes.definitions import (
    SCHEMA_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.errors import CompileError
from chartkit.model import Body, Diagnostic, Resource, Severity, mapping_at

KINDS: Final = tuple(f"{kind}Binding" for kind in ADMISSION)


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding of a policy; constraints: None where it narrows nothing."""

    name: str
    constraints: Constraints | None
    params: ParamRef | None
    actions: tuple[str, ...]


def is_binding(resource: Resource) -> bool:
    """Return whether an object is a binding of an admission policy."""
    group = resource.api_version.partition("/")[0]
    return group == "admissionregistration.k8s.io" and resource.kind in KINDS


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
    check_served(resource, ADMISSION_VERSIONS, KINDS)
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
