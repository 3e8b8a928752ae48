"""Faults for which Kyverno's webhook refuses policies whose expressions compile, in its words, and
those for which an API server refuses its own policies.

Sources: `pkg/cel/policies/*/validate.go` and `pkg/image/verification/evaluator/validate.go`, and
`validateMAPCompatibleMatchConditions` of its MutatingPolicy compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.ast import Ident, nodes
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel_policies.admission import AdmissionExpressions
from chartkit.engine.cel_policies.expressions import EXPRESSION_RULE, expressions_of
from chartkit.engine.cel_policies.generation import placeholders
from chartkit.engine.cel_policies.policy import CelPolicy, field_at
from chartkit.engine.kubernetes.definitions import POLICY_RULE, WARNING_RULE
from chartkit.engine.kubernetes.kinds import KYVERNO_KINDS, CelKind
from chartkit.go.strconv import quote
from chartkit.model import Body, Diagnostic, Json, Severity

_NO_RULES: Final = (
    "spec.matchConstraints: Required value: a matchConstraints with at least one resource rule is "
    "required"
)
_GLOBAL_CONTEXT: Final = "spec: Forbidden: globalContext.* is not allowed in namespaced policies"
_HTTP: Final = (
    "spec: Forbidden: http.* is not allowed in namespaced policies; set "
    "--allowHTTPInNamespacedPolicies to enable"
)
_NEVER: Final = (
    "spec.evaluation: Forbidden: disabling both admission and mutateExisting evaluation modes is "
    "not allowed"
)
_VARIABLES: Final = (
    "Forbidden: variables cannot be referenced in matchConditions when "
    "spec.autogen.mutatingAdmissionPolicy.enabled is true; native MutatingAdmissionPolicy "
    "evaluates match conditions before variables, so inline the expression instead"
)
_EXPRESSIONS: Final = frozenset({"expression", "messageExpression", "valueExpression"})


def refusals(policy: CelPolicy) -> list[Diagnostic]:
    """The faults that Kyverno's compiler or webhook refuses, and policies that never apply."""
    if policy.kind is not CelKind.MUTATING:
        return []
    evaluation: Body = policy.spec.get("evaluation") or {}
    existing: Body = evaluation.get("mutateExisting") or {}
    faults: list[tuple[str, str]] = []
    autogen: Body = policy.spec.get("autogen") or {}
    if (autogen.get("mutatingAdmissionPolicy") or {}).get("enabled") is True:
        for index, condition in enumerate(policy.conditions):
            if "variables" in _names(condition.expression):
                variable_path = f"spec.matchConditions[{index}].expression"
                faults.append((variable_path, f"{variable_path}: {_VARIABLES}"))
    if not policy.admission and existing.get("enabled") is not True:
        faults.append(("spec.evaluation", _NEVER))
    return [_diagnostic(policy, path, text, Severity.ERROR) for path, text in faults]


def cluster_refusals(policy: CelPolicy) -> list[Diagnostic]:
    """Warnings of what the webhook refuses, though Kyverno's engine evaluates it: nothing comes
    of such a policy in a cluster."""
    if policy.kind not in KYVERNO_KINDS:
        return []
    faults: list[tuple[str, str]] = []
    rules = policy.constraints.rules if policy.constraints is not None else ()
    # Kyverno's webhook is not asked about policies for any JSON: they stand in no cluster.
    if not rules and not policy.json and policy.kind is not CelKind.IMAGE_VALIDATING:
        faults.append(("spec.matchConstraints", _NO_RULES))
    if policy.namespace:
        names = frozenset[str]().union(*map(_names, _expressions(policy.spec)))
        if "globalContext" in names:
            faults.append(("spec", _GLOBAL_CONTEXT))
        if "http" in names and not policy.may_call:
            faults.append(("spec", _HTTP))
    return [_diagnostic(policy, path, text, Severity.WARNING) for path, text in faults]


def without_effect(policy: CelPolicy) -> list[Diagnostic]:
    """Warnings of what is taken in silence: a policy that can do nothing, a namespace that it does
    not have."""
    faults: list[tuple[str, str]] = []
    field = _DOING.get(policy.kind)
    if field is not None and not policy.spec.get(field):
        faults.append((f"spec.{field}", f"{policy.key}: has no {field}: it can never do anything"))
    # Each mutation of a MutatingPolicy without the part that its patchType names: Kyverno
    # passes over it.
    mutations = policy.spec.get("mutations") if policy.kind is CelKind.MUTATING else None
    for index, body in enumerate(mutations or ()):
        part = _PATCHES.get(body["patchType"])
        if part is None or body.get(part) is None:
            path = f"spec.mutations[{index}]"
            wanted = f"no {part}" if part else "neither JSONPatch nor ApplyConfiguration in it"
            text = f"{policy.key}: {path} does nothing: patchType is {body['patchType']}, "
            faults.append((path, f"{text}and there is {wanted}"))
    if not policy.namespace and policy.resource.namespace:
        text = f"{policy.key}: a {policy.resource.kind} has no namespace: API servers clear it"
        faults.append(("metadata.namespace", text))
    return [
        Diagnostic(WARNING_RULE, Severity.WARNING, text, field_at(policy, path))
        for path, text in faults
    ]


_DOING: Final = {
    CelKind.VALIDATING: "validations",
    CelKind.IMAGE_VALIDATING: "validations",
    CelKind.MUTATING: "mutations",
}


_PATCHES: Final = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}


def _expressions(value: Json) -> Iterator[str]:
    """Every expression of a specification, including its templates."""
    if isinstance(value, list):
        for member in value:
            yield from _expressions(member)
    elif isinstance(value, dict):
        for key, member in value.items():
            if key in _EXPRESSIONS and isinstance(member, str):
                yield member
            elif key == "template" and isinstance(member, dict):
                yield from placeholders(member)
            else:
                yield from _expressions(member)


def _names(text: str) -> frozenset[str]:
    """The names that an expression mentions; none for an invalid expression."""
    try:
        root = parse(text, ENVIRONMENTS["standard"]).root
    except CelCompileError:
        return frozenset()
    return frozenset(node.name for node in nodes(root) if isinstance(node, Ident))


def _diagnostic(policy: CelPolicy, path: str, text: str, severity: Severity) -> Diagnostic:
    return Diagnostic(POLICY_RULE, severity, text, field_at(policy, path))


def refused_by_server(policy: CelPolicy) -> list[Diagnostic]:
    """An error for each expression of a ValidatingAdmissionPolicy that an API server refuses.

    Kyverno gives `orValue` a meaning for values that are not optionals, and with it another type;
    an API server does not, so an expression that compiles here may not compile there.
    """
    if policy.kind is not CelKind.VALIDATING_ADMISSION:
        return []
    has_params = bool(policy.spec.get("paramKind"))
    there = AdmissionExpressions(ENVIRONMENTS["k8s"], policy.variables, has_params)
    diagnostics: list[Diagnostic] = []
    for path, text, expected in expressions_of(policy):
        problem = there.compile(text, expected).problem
        if problem:
            message = f"{policy.key}: {path}: Invalid value: {quote(text)}: {problem}"
            where = policy.resource.location
            hint = "an API server refuses the policy, whatever Kyverno's program says of it"
            diagnostics.append(Diagnostic(EXPRESSION_RULE, Severity.ERROR, message, where, hint))
    return diagnostics
