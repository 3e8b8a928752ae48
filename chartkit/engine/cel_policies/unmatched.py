"""Match constraints of a policy in CEL that no object can pass, and those that no cluster asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.checker import UndefinedField
from chartkit.engine.cel.shapes import (
    KindIssues,
    kinds_called,
    kinds_matched,
    meant_resource,
    misspelt,
    served_elsewhere,
)
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, expressions_of
from chartkit.engine.cel_policies.policy import CelPolicy, ResourceRule, field_at
from chartkit.engine.kubernetes.definitions import MISSPELT_RULE, WARNING_RULE
from chartkit.engine.kubernetes.kinds import CelKind, GroupVersionKind, is_cluster_scoped
from chartkit.engine.kubernetes.selectors import never_fits
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Severity, mapping_at, mappings_at
from chartkit.suggestions import suggestion

_PATH: Final = "spec.matchConstraints"
_Fault = tuple[str, str, str]


def unmatched(policy: CelPolicy) -> list[Diagnostic]:
    """Return a warning for each part of the match constraints that no object can pass."""
    return [
        Diagnostic(
            WARNING_RULE, Severity.WARNING, f"{policy.key}: {text}", field_at(policy, path), hint
        )
        for path, text, hint in _faults(policy)
    ]


def _faults(policy: CelPolicy) -> Iterator[_Fault]:
    constraints = policy.constraints
    rules = () if constraints is None else constraints.rules
    if policy.kind is CelKind.IMAGE_VALIDATING and not rules and not policy.json:
        text = "has no resourceRules: Kyverno accepts it and makes no webhook of it"
        yield _PATH, text, "no cluster asks the policy: name the resources that it is about"
    if constraints is None:
        return
    # A policy of removed versions says that it means no other.
    is_exact = policy.spec["matchConstraints"].get("matchPolicy") == "Exact"
    for index, rule in enumerate(() if is_exact else rules):
        yield from _of_rule(rule, f"{_PATH}.resourceRules[{index}]")
    namespaces = constraints.namespace_selector
    selectors = (("namespaceSelector", namespaces), ("objectSelector", constraints.object_selector))
    for name, selector in selectors:
        if selector is not None and (problem := never_fits(selector, wildcards=False)):
            yield f"{_PATH}.{name}", f"no object fits the {name}: {problem}", "correct it"
    # An API server writes an empty selector where a policy has none.
    has_selector = namespaces is not None and (namespaces.labels or namespaces.expressions)
    if has_selector and rules and all(map(_is_cluster_scoped, rules)):
        text = "the resources are cluster-scoped: namespaceSelector has no effect on them"
        yield f"{_PATH}.namespaceSelector", text, "remove it"


def _of_rule(rule: ResourceRule, path: str) -> Iterator[_Fault]:
    for at, resource in enumerate(rule.resources):
        name = resource.partition("/")[0]
        places = served_elsewhere(rule.groups, rule.versions, kinds_called(name).__contains__)
        if places:
            text = f"no API server has the resource '{resource}' in these groups and versions"
            yield f"{path}.resources[{at}]", f"{text}: no object matches", f"it is in {places}"
    scoped = {is_cluster_scoped(kind) for name in rule.resources for kind in kinds_called(name)}
    if rule.scope in ("Cluster", "Namespaced") and scoped == {rule.scope == "Namespaced"}:
        other = "cluster-scoped" if True in scoped else "namespaced"
        yield f"{path}.scope", f"the resources are {other}: no object matches", "remove the scope"


def _is_cluster_scoped(rule: ResourceRule) -> bool:
    kinds = [kinds_called(name) for name in rule.resources]
    return all(kinds) and all(
        is_cluster_scoped(kind) and kind.kind != "Namespace" for group in kinds for kind in group
    )


_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")


def misspelt_fields(policy: CelPolicy) -> list[Diagnostic]:
    """Return a warning for each field of `object` that none of the matched kinds has.

    Nothing is said where a kind is not Kubernetes' own, or is named by a wildcard.
    """
    kinds = kinds_of(policy)
    if not kinds:
        return []
    compiler = ExpressionCompiler(policy)
    try:
        compiler.variables(policy.variables)
    except CompileError:
        return []
    diagnostics: list[Diagnostic] = []
    written = [(path, text) for path, text, _expected in expressions_of(policy)]
    for path, text in (*written, *mutations_of(policy)):
        program = compiler.one(path, text)
        if program is None:
            continue
        for issues in _of_all(misspelt(program, kinds), len(kinds)):
            diagnostics += [
                replace(
                    diagnostic,
                    message=f"{policy.key}: {path}: {diagnostic.message}",
                    location=field_at(policy, path, _offset(text, issue)),
                )
                for diagnostic, issue in zip(issues.diagnostics(), issues.issues, strict=True)
            ]
    return diagnostics


def _of_all(kinds: Sequence[KindIssues], count: int) -> Iterator[KindIssues]:
    """Yield the issues that every kind has, for each of them; count: the number of kinds."""
    if len(kinds) == count:
        common = set.intersection(*({_key(issue) for issue in kind.issues} for kind in kinds))
        for kind in kinds:
            yield replace(kind, issues=tuple(item for item in kind.issues if _key(item) in common))


def _key(issue: UndefinedField) -> tuple[int | None, str]:
    return issue.offset, issue.field


def mutations_of(policy: CelPolicy) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each expression that changes objects."""
    for index, mutation in enumerate(mappings_at(policy.spec, "mutations")):
        for key in ("applyConfiguration", "jsonPatch"):
            text = mapping_at(mutation, key).get("expression")
            if isinstance(text, str):
                yield f"spec.mutations[{index}].{key}.expression", text


def _offset(text: str, issue: UndefinedField) -> int | None:
    """The offset of the field's name, which follows the issue's own."""
    if issue.offset is None:
        return None
    at = text.find(issue.field, issue.offset)
    return at if at >= 0 else issue.offset


def misspelt_resources(policy: CelPolicy) -> list[Diagnostic]:
    """Return a warning for each resource that is nearly one of Kubernetes' (`pod`), and for each
    unknown operation."""
    diagnostics: list[Diagnostic] = []
    rules = policy.constraints.rules if policy.constraints is not None else ()
    for index, rule in enumerate(rules):
        diagnostics += _operations(policy, index, rule)
        for at, resource in enumerate(rule.resources):
            meant = meant_resource(rule.groups, resource.partition("/")[0])
            if meant is None:
                continue
            message = f"{policy.key}: there is no resource '{resource}': the rule matches no object"
            path = f"spec.matchConstraints.resourceRules[{index}].resources[{at}]"
            location, hint = field_at(policy, path), f"did you mean '{meant}'?"
            diagnostics.append(Diagnostic(MISSPELT_RULE, Severity.WARNING, message, location, hint))
    return diagnostics


def _operations(policy: CelPolicy, index: int, rule: ResourceRule) -> Iterator[Diagnostic]:
    for at, operation in enumerate(rule.operations):
        if operation not in _OPERATIONS:
            message = f"{policy.key}: there is no operation '{operation}': no webhook can have it"
            path = f"spec.matchConstraints.resourceRules[{index}].operations[{at}]"
            hint = suggestion(operation.upper(), _OPERATIONS) or f"known: {', '.join(_OPERATIONS)}"
            location = field_at(policy, path)
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, location, hint)


def kinds_of(policy: CelPolicy) -> list[GroupVersionKind]:
    """Return the kinds that a policy matches; none where one is not Kubernetes' own, or is named by
    a wildcard."""
    matched: dict[GroupVersionKind, None] = {}
    for rule in policy.constraints.rules if policy.constraints is not None else ():
        for resource in rule.resources:
            kinds = kinds_matched(rule.groups, rule.versions, (resource,))
            if not kinds:
                return []
            matched.update(dict.fromkeys(kinds))
    return list(matched)
