"""The webhooks of policies, and which requests an API server sends to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.serve.admission.registration import policy_webhooks
from chartkit.addons.serve.admission.webhooks import VALIDATING, Scope, filters_of
from chartkit.engine import RunnablePolicy
from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.policy import CelPolicy, read_constraints
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.policy import Rule, RuleKind
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames
from chartkit.errors import EvaluationError
from chartkit.go.quantity import quantity_or_none
from chartkit.go.strconv import BOOLS
from chartkit.kyverno.controllers import ADMISSION, Controller, controllers
from chartkit.model import Json, Resource, RuleType, list_of, mapping_at

REPORTS: Final = "reports-controller"
_REPORTED: Final = {
    "validate": RuleType.VALIDATION,
    "mutate": RuleType.MUTATION,
    "imageVerify": RuleType.IMAGE_VERIFY,
    "generate": RuleType.GENERATION,
}
_RESULTS: Final = ("pass", "fail", "error", "warn", "skip")


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook of Kyverno; name: as in its configuration; policies: those that it is for."""

    name: str
    policies: list[str]
    constraints: Constraints

    def is_sent(self, attributes: Attributes) -> bool:
        """Report whether an API server sends a request to it."""
        try:
            return self.constraints.match(attributes)
        except EvaluationError:
            return True  # Kubernetes refuses the selector; nothing is left out by it.


def webhooks(
    policies: Iterable[RunnablePolicy], names: CustomNames = UNKNOWN, only_writes: bool = False
) -> list[Webhook]:
    """Return the webhooks of policies; names: of custom kinds; only_writes: as if rules that judge
    writes alone named CREATE and UPDATE where they name no operation."""
    scope = Scope(names=names, in_background=True)
    if only_writes:
        scope = replace(scope, judges_writes=_judges_writes_alone)
    hooks = []
    for made in policy_webhooks(policies, scope):
        selectors = {"namespaceSelector": made.namespaces, "objectSelector": made.objects}
        constraints = read_constraints({"resourceRules": made.rules, **selectors})
        assert constraints is not None
        hooks.append(Webhook(made.name, [*made.policies], Constraints(constraints)))
    return hooks


def names_no_operation(policy: RunnablePolicy) -> bool:
    """Report whether Kyverno is asked about deletions for a rule that judges writes alone, and
    names no operation."""
    parsed = policy.policy
    if isinstance(parsed, CelPolicy) or not parsed.admission:
        return False
    rules = filter(_judges_writes_alone, parsed.rules)
    return any(
        part.kinds and not part.operations for rule in rules for part in filters_of(rule.match)
    )


def _judges_writes_alone(rule: Rule) -> bool:
    """Report whether Kyverno passes over deletions for a rule: those with patterns look at what an
    object will be, and a precondition may say so."""
    if rule.kind not in VALIDATING:
        return False
    if rule.kind in (RuleKind.POD_SECURITY, RuleKind.MANIFESTS):
        return True
    given = rule.validate
    has_pattern = given.pattern is not None or given.any_pattern is not None
    return (has_pattern and given.deny is None) or _leaves_out_deletions(rule.preconditions)


def _leaves_out_deletions(preconditions: Json) -> bool:
    """Report whether preconditions are that the operation is not a DELETE."""
    if isinstance(preconditions, dict):
        preconditions = preconditions.get("all")
    return any(
        "request.operation" in str(condition.get("key"))
        and str(condition.get("operator")).startswith(("NotEqual", "NotIn", "AnyNotIn", "AllNotIn"))
        and condition.get("value") in ("DELETE", ["DELETE"])
        for condition in list_of(preconditions)
        if isinstance(condition, dict)
    )


def matches_everything(policy: RunnablePolicy) -> bool:
    """Report whether a policy names every kind (`*`), so that Kyverno is asked about all."""
    parsed = policy.policy
    if isinstance(parsed, CelPolicy):
        rules = parsed.constraints.rules if parsed.constraints else ()
        return parsed.admission and any("*" in resource_rule.resources for resource_rule in rules)
    kinds = (kind for rule in parsed.rules for kind in rule.match.kinds)
    return parsed.admission and any(kind.rpartition("/")[2] == "*" for kind in kinds)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an environment's Kyverno; the defaults come from its programs and chart.

    is_known: whether they are an installation's; results, types: those that are reported;
    admission_limit: how many ephemeral reports may wait; memory_limit: of the reports controller,
    in bytes, None without a limit; replicas: of the admission controller.
    """

    is_known: bool = False
    has_reports_controller: bool = True
    admission_reports: bool = True
    admission_limit: int = 1000
    aggregate_reports: bool = True
    policy_reports: bool = True
    api_server_policies: bool = True
    background_scan: bool = True
    interval: str = "1h"
    skip_resource_filters: bool = True
    results: frozenset[str] = frozenset(_RESULTS)
    types: frozenset[RuleType] = frozenset(_REPORTED.values())
    memory_limit: int | None = 128 << 20
    replicas: int = 1

    @property
    def writes_reports(self) -> bool:
        """Report whether PolicyReports are written at all."""
        return self.has_reports_controller and self.aggregate_reports and self.policy_reports


def engine_settings(rendered: Sequence[Resource]) -> EngineSettings:
    """Return the settings of Kyverno's chart; rendered: its objects, none where another chart
    installs Kyverno, so that its defaults count."""
    deployed = {controller.component: controller for controller in controllers(rendered)}
    if not deployed:
        return EngineSettings()
    defaults = EngineSettings()
    reports, admission = deployed.get(REPORTS), deployed.get(ADMISSION)
    results = _flag(reports, "allowedResults", ",".join(_RESULTS)).split(",")
    types = _flag(reports, "enableReporting", ",".join(_REPORTED)).split(",")
    limit = _flag(admission, "maxAdmissionReports", "")
    is_number = limit.isdecimal() and len(limit) < 10
    replicas = admission.replicas if admission else 1
    return EngineSettings(
        is_known=True,
        has_reports_controller=reports is not None and reports.replicas != 0,
        admission_reports=_is_on(admission, "admissionReports"),
        admission_limit=int(limit) if is_number else defaults.admission_limit,
        aggregate_reports=_is_on(reports, "aggregateReports"),
        policy_reports=_is_on(reports, "policyReports"),
        api_server_policies=_is_on(reports, "validatingAdmissionPolicyReports"),
        background_scan=_is_on(reports, "backgroundScan"),
        interval=_flag(reports, "backgroundScanInterval", defaults.interval),
        skip_resource_filters=_is_on(reports, "skipResourceFilters"),
        results=frozenset(results),
        types=frozenset(_REPORTED[type_] for type_ in types if type_ in _REPORTED),
        memory_limit=_memory_limit(reports),
        replicas=replicas if isinstance(replicas, int) else 1,
    )


def _flag(controller: Controller | None, name: str, default: str, alone: str | None = None) -> str:
    return default if controller is None else controller.flag(name, default, alone)


def _is_on(controller: Controller | None, name: str) -> bool:
    return BOOLS.get(_flag(controller, name, "true", "true"), False)


def _memory_limit(controller: Controller | None) -> int | None:
    for container in controller.containers if controller else ():
        value = mapping_at(container, "resources", "limits").get("memory")
        quantity = quantity_or_none(str(value)) if value is not None else None
        limit = None if quantity is None else int(float(quantity))
        if limit is not None:
            return limit
    return None
