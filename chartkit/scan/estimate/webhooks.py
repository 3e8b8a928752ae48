"""The webhooks that Kyverno makes of policies, and the requests that an API server sends to them.

Source: `pkg/controllers/webhook` of Kyverno 1.19 (`mergeWebhook`, `collectResourceDescriptions`,
`buildWebhookRules`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from chartkit.engine import Operation, RunnablePolicy
from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.cel_policies.constraints import Constraints, of_any_operation
from chartkit.engine.cel_policies.policy import CelKind, CelPolicy
from chartkit.engine.cluster_policy.autogen import all_rules
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.cluster_policy.policy import Match, Policy, ResourceFilter, Rule, RuleKind
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, list_of, mapping_at, mappings_at, texts_of

if TYPE_CHECKING:
    from chartkit.engine.cel_policies.run import CompiledCelPolicy

_ALL: Final = tuple(Operation)
_WRITES: Final = (Operation.CREATE, Operation.UPDATE)
_CHANGES: Final = (*_WRITES, Operation.DELETE)
_VALIDATING: Final = frozenset(
    (RuleKind.VALIDATE, RuleKind.POD_SECURITY, RuleKind.MANIFESTS, RuleKind.CEL)
)
_SERVICE: Final = "kyverno.svc"
_PREFIXES: Final = {
    CelKind.VALIDATING: "vpol",
    CelKind.GENERATING: "gpol",
    CelKind.MUTATING: "mpol",
    CelKind.IMAGE_VALIDATING: "ivpol",
}
Covers = Callable[[Attributes], bool]


@dataclass(slots=True)
class Webhook:
    """A webhook of Kyverno; name: as in its configuration; policies: those that it is for; by_kind:
    whether kind and operation alone decide what is sent."""

    name: str
    policies: list[str] = field(default_factory=list)
    by_kind: bool = True
    _members: list[Covers] = field(default_factory=list)
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def add(self, policy: str, covers: Covers, by_kind: bool) -> None:
        """Add what a policy wants to be sent."""
        if policy not in self.policies:
            self.policies.append(policy)
        self._members.append(covers)
        self.by_kind = self.by_kind and by_kind

    def is_sent(self, attributes: Attributes) -> bool:
        """Return whether an API server sends a request to it."""
        if not self.by_kind:
            return any(covers(attributes) for covers in self._members)
        key = (attributes.kind_key, attributes.kind)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = any(covers(attributes) for covers in self._members)
        return found


def webhooks(policies: Iterable[RunnablePolicy], only_writes: bool = False) -> list[Webhook]:
    """Return the webhooks of policies; only_writes: as if rules that judge writes alone named
    CREATE and UPDATE where they name no operation."""
    found: dict[str, Webhook] = {}
    for each in policies:
        policy = each.policy
        if each.judges_json or each.runs_in_api_server or not policy.admission:
            continue
        if isinstance(policy, CelPolicy):
            members = _cel_members(policy, _forms(each))
        else:
            members = _members(policy, only_writes)
        for name, covers, by_kind in members:
            found.setdefault(name, Webhook(name)).add(policy.key, covers, by_kind)
    return [found[name] for name in sorted(found)]


def names_no_operation(policy: RunnablePolicy) -> bool:
    """Return whether Kyverno is asked about deletions for a rule that judges writes alone, and
    names no operation."""
    parsed = policy.policy
    if isinstance(parsed, CelPolicy) or not parsed.admission:
        return False
    rules = filter(_judges_writes_alone, parsed.rules)
    return any(one.kinds and not one.operations for rule in rules for one in _filters(rule.match))


def _judges_writes_alone(rule: Rule) -> bool:
    """Return whether Kyverno passes over deletions for a rule: those with patterns look at what an
    object will be, and a precondition may say so."""
    if rule.kind not in _VALIDATING:
        return False
    if rule.kind in (RuleKind.POD_SECURITY, RuleKind.MANIFESTS):
        return True
    given = rule.validate
    has_pattern = given.pattern is not None or given.any_pattern is not None
    return (has_pattern and given.deny is None) or _leaves_out_deletions(rule.preconditions)


def _leaves_out_deletions(preconditions: Json) -> bool:
    """Return whether preconditions are that the operation is no DELETE."""
    if isinstance(preconditions, dict):
        preconditions = preconditions.get("all")
    return any(
        "request.operation" in str(one.get("key"))
        and str(one.get("operator")).startswith(("NotEqual", "NotIn", "AnyNotIn", "AllNotIn"))
        and one.get("value") in ("DELETE", ["DELETE"])
        for one in list_of(preconditions)
        if isinstance(one, dict)
    )


def matches_everything(policy: RunnablePolicy) -> bool:
    """Return whether a policy names every kind (`*`), so that Kyverno is asked about all."""
    parsed = policy.policy
    if isinstance(parsed, CelPolicy):
        rules = parsed.constraints.rules if parsed.constraints else ()
        return parsed.admission and any("*" in one.resources for one in rules)
    kinds = (kind for rule in parsed.rules for kind in rule.match.kinds)
    return parsed.admission and any(kind.rpartition("/")[2] == "*" for kind in kinds)


def _members(policy: Policy, only_writes: bool) -> Iterator[tuple[str, Covers, bool]]:
    """Yield the webhooks of a ClusterPolicy or Policy, with what each is sent for it."""
    spec = mapping_at(policy.resource.body, "spec")
    given = mapping_at(spec, "webhookConfiguration").get("failurePolicy") or spec.get(
        "failurePolicy"
    )
    ending = "ignore" if given == "Ignore" else "fail"
    if policy.match_conditions:
        ending += f"-finegrained-{policy.key.replace('/', '-')}"
    rules = all_rules(policy)
    mutates = any(rule.kind in (RuleKind.MUTATE, RuleKind.VERIFY_IMAGES) for rule in rules)
    for rule in rules:
        for side, operations in _sides(rule, mutates, only_writes):
            name = f"{side}.{_SERVICE}-{ending}"
            yield (
                name,
                _of_kinds(_described(rule, operations), policy.namespace),
                not policy.namespace,
            )


def _sides(
    rule: Rule, mutates: bool, only_writes: bool
) -> Iterator[tuple[str, Sequence[Operation]]]:
    """Yield the webhooks that a rule is for, with the operations that it means if it names none."""
    kind = rule.kind
    if kind is RuleKind.GENERATE:
        yield "validate", _ALL
        if mutates:
            yield "mutate", _ALL
    elif kind in _VALIDATING or kind is RuleKind.MUTATE_EXISTING:
        yield "validate", _WRITES if only_writes and _judges_writes_alone(rule) else _ALL
        if kind is RuleKind.MANIFESTS and mutates:
            yield "mutate", _WRITES
    elif kind is RuleKind.VERIFY_IMAGES:
        yield "mutate", _WRITES
        checks = ("verifyDigest", "required")
        if any(each.get(key, True) for each in rule.verify_images for key in checks):
            yield "validate", _ALL
    else:
        yield "mutate", _WRITES


Described = dict[str, set[str]]
"""Operations by the selectors of kinds."""


def _described(rule: Rule, operations: Sequence[Operation]) -> Described:
    """Return the operations by kind that a rule matches, without what it excludes as a whole."""
    found: Described = {}
    for one in _filters(rule.match):
        for kind in one.kinds:
            found.setdefault(kind, set()).update(one.operations or map(str, operations))
    for one in rule.exclude.any if rule.exclude else ():
        if not (one.has_user or _is_narrow(one)):
            for kind in one.kinds or tuple(found):
                found.get(kind, set()).difference_update(one.operations or map(str, _ALL))
    for kind in _generated_kinds(rule.generate or {}):
        found.setdefault(kind, set()).update(map(str, _CHANGES))
    return found


def _filters(match: Match) -> tuple[ResourceFilter, ...]:
    return (match.direct, *match.all, *match.any)


def _is_narrow(one: ResourceFilter) -> bool:
    return bool(
        one.name
        or one.names
        or one.namespaces
        or one.annotations
        or one.selector is not None
        or one.namespace_selector is not None
    )


def _generated_kinds(generate: Body) -> Iterator[str]:
    for each in (generate, *mappings_at(generate, "foreach")):
        if isinstance(each.get("kind"), str) and each["kind"]:
            yield each["kind"]
        else:
            yield from texts_of(mapping_at(each, "cloneList").get("kinds"))


def _of_kinds(described: Described, namespace: str) -> Covers:
    """Return what covers the operations on kinds; namespace: of the policy, empty for all."""
    tests = [(compile_kinds((kind,)), frozenset(names)) for kind, names in described.items()]

    def covers(attributes: Attributes) -> bool:
        if namespace and not attributes.namespace:
            return False
        kind = GroupVersionKind(attributes.group, attributes.version, attributes.kind)
        operation = str(attributes.operation)
        return any(
            operation in names and fits(kind, attributes.subresource) for fits, names in tests
        )

    return covers


def _forms(policy: RunnablePolicy) -> Collection[CelPolicy]:
    """Return a policy in CEL, and its forms for pod controllers."""
    compiled: CompiledCelPolicy = policy  # type: ignore[assignment]
    return [each.policy for each in compiled.evaluators]


def _cel_members(
    policy: CelPolicy, forms: Collection[CelPolicy]
) -> Iterator[tuple[str, Covers, bool]]:
    """Yield the webhooks of a policy in CEL, with what each is sent for it."""
    prefix = f"{'n' if policy.namespace else ''}{_PREFIXES[policy.kind]}"
    ending = "ignore" if policy.spec.get("failurePolicy") == "Ignore" else "fail"
    exact = mapping_at(policy.spec, "matchConstraints").get("matchPolicy") == "Exact"
    timeout = mapping_at(policy.spec, "webhookConfiguration").get("timeoutSeconds")
    if policy.conditions or exact or timeout is not None:
        ending += f"-finegrained-{policy.key.replace('/', '-')}"
    sides = ["validate"]
    if policy.kind is CelKind.IMAGE_VALIDATING:
        configured = mapping_at(policy.spec, "validationConfigurations")
        sides += ["mutate"] if configured.get("mutateDigest", True) else []
    for form in forms:
        if form.constraints is None or not form.constraints.rules:
            continue
        known = of_any_operation(form.constraints) if _generates(policy) else form.constraints
        rules = tuple(replace(rule, names=()) for rule in known.rules)
        known = replace(known, rules=rules, excluded=())
        by_kind = not (known.namespace_selector or known.object_selector)
        for side in sides:
            name = f"{prefix}.{side}.{_SERVICE}-{ending}"
            yield name, _of_constraints(Constraints(known)), by_kind


def _generates(policy: CelPolicy) -> bool:
    return policy.kind is CelKind.GENERATING


def _of_constraints(constraints: Constraints) -> Covers:
    def covers(attributes: Attributes) -> bool:
        try:
            return constraints.match(attributes)
        except EvaluationError:
            return True  # Kubernetes refuses the selector; nothing is left out by it.

    return covers
