"""From a policy to something that runs: everything that the policy alone decides is done here.

Rules are looked up by the kind of object. The first object of a kind decides which rules can
match, with their rules for pod controllers; every later one finds them ready.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final

from chartkit.engine.cluster_policy.autogen import all_rules, controllers, rules_for_kind
from chartkit.engine.cluster_policy.handler import Compiler, compile_scope, looks_back, rule_action
from chartkit.engine.cluster_policy.match import Predicate, always, bind_match, never
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind, read_policy
from chartkit.engine.cluster_policy.policy_check import check_policy
from chartkit.engine.cluster_policy.policy_check.warnings import (
    IsClusterWide,
    nothing_cluster_wide,
    policy_warnings,
)
from chartkit.engine.cluster_policy.run import CompiledRule, RuleBody, RuleView
from chartkit.engine.context.entries import compile_entries
from chartkit.engine.context.variables import compile_template
from chartkit.engine.kubernetes.definitions import POLICY_RULE
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.request import Phase, Request, Run
from chartkit.errors import ChartkitError, EvaluationError, raising
from chartkit.model import Diagnostic, Json, Resource, RuleResult

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.exceptions import BoundException, PolicyException
    from chartkit.engine.cluster_policy.validate_cel import WebhookConditions
    from chartkit.engine.why import RuleDecision

_BodyKey = tuple[int, str, tuple[str, ...]]

PHASES: Final[dict[RuleKind, Phase]] = {
    RuleKind.MUTATE: Phase.MUTATE,
    RuleKind.MUTATE_EXISTING: Phase.MUTATE,
    RuleKind.VERIFY_IMAGES: Phase.IMAGES,
    RuleKind.VALIDATE: Phase.VALIDATE,
    RuleKind.POD_SECURITY: Phase.VALIDATE,
    RuleKind.MANIFESTS: Phase.VALIDATE,
    RuleKind.CEL: Phase.VALIDATE,
    RuleKind.GENERATE: Phase.GENERATE,
}


_COMPILERS: Final = {
    RuleKind.VALIDATE: "validate:compile_validate",
    RuleKind.POD_SECURITY: "podsecurity.rule:PodSecurityHandler",
    RuleKind.MANIFESTS: "manifests:compile_manifests",
    RuleKind.CEL: "validate_cel:compile_validate_cel",
    RuleKind.MUTATE: "mutate:compile_mutate",
    RuleKind.MUTATE_EXISTING: "mutate:compile_mutate_existing",
    RuleKind.GENERATE: "generate:compile_generate",
    RuleKind.VERIFY_IMAGES: "verify_images:compile_verify_images",
}
"""The compiler of each kind of rule: its module in this room, and its name. A kind is loaded when a
policy has it; all of them take longer than to judge a few objects."""


@cache
def _compiler(kind: RuleKind) -> Compiler:
    module, _, name = _COMPILERS[kind].partition(":")
    compiler: Compiler = getattr(import_module(f"{__package__}.{module}"), name)
    return compiler


def _compile_body(rule: Rule, policy: Policy) -> RuleBody:
    entries, preconditions = compile_scope(rule.body, rule, policy)
    if preconditions is not None and preconditions.is_empty:
        preconditions = None
    compiler = _compiler(rule.kind)
    properties = compile_template(dict(rule.properties)) if rule.properties else None
    handle = compiler(rule, policy)
    return RuleBody(entries, preconditions, handle, properties, has_context=bool(rule.context))


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy that is ready to run.

    phases: those in which any of its rules runs; scored: whether a failure is one (else it is a
    warning); webhook: which requests it is sent; cluster_wide: which kinds are cluster-scoped.
    """

    source: ClassVar = "kyverno"
    judges_json: ClassVar = False
    runs_in_api_server: ClassVar = False

    policy: Policy
    exceptions: tuple[PolicyException, ...] = ()
    phases: frozenset[Phase] = frozenset()
    scored: bool = True
    webhook: WebhookConditions | None = None
    cluster_wide: IsClusterWide = nothing_cluster_wide
    _extended: frozenset[str] = frozenset()
    _found: dict[tuple[GroupVersionKind, str, Phase], tuple[CompiledRule, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _bodies: dict[_BodyKey, RuleBody] = field(default_factory=dict, compare=False, repr=False)

    @property
    def looks_around(self) -> bool:
        return any(map(_looks_around, self.policy.rules))

    def action(self, rule: str, namespace: str, labels: Mapping[str, str] | None = None) -> str:
        return rule_action(self.policy, rule, namespace, labels)

    def warnings(self) -> tuple[Diagnostic, ...]:
        from chartkit.engine.cluster_policy.policy_check.warnings import webhook_refusals
        from chartkit.engine.cluster_policy.unmatched import misspelt_names, unmatched

        problems = () if self.webhook is None else self.webhook.problems
        own = [*webhook_refusals(self.policy, self.cluster_wide, problems, POLICY_RULE)]
        own += policy_warnings(self.policy)
        if self.exceptions:
            from chartkit.engine.cluster_policy.exceptions import refused_exceptions

            own += refused_exceptions(self.exceptions, self.policy.key)
        own += unmatched(self.policy, self.cluster_wide)
        if any(rule.generate is not None for rule in self.policy.rules):
            from chartkit.engine.cluster_policy.generate import unmatched_in_background

            own += unmatched_in_background(self.policy)
        return (*own, *misspelt_names(self.policy))

    def rules_in(self, phases: Collection[Phase]) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.policy.rules if PHASES[rule.kind] in phases)

    def concerns(self, request: Request) -> bool:
        kind = request.kind or kind_of(request.resource)
        return any(self.rules_for(kind, request.subresource, phase) for phase in self.phases)

    def run_phase(self, run: Run, phase: Phase, results: list[RuleResult]) -> None:
        request = run.request
        if request.is_json:
            return
        rules = self.rules_for(run.kind, request.subresource, phase)
        # A mutation that failed leaves nothing behind that could match.
        if not rules or not request.resource.body:
            return
        view = run.view(RuleView)
        if self.webhook is None or view.is_sent(self.policy, self.webhook, results):
            view.evaluate(self.policy, self.scored, rules, phase, results)

    def why_phase(
        self, run: Run, phase: Phase, results: list[RuleResult]
    ) -> tuple[RuleDecision, ...]:
        from chartkit.engine.cluster_policy.why import why_phase

        return why_phase(self, run, phase, results)

    def run_forms(self, run: Run, phase: Phase) -> Iterator[tuple[None, list[RuleResult]]]:
        results: list[RuleResult] = []
        self.run_phase(run, phase, results)
        yield None, results

    def rules_for(
        self, kind: GroupVersionKind, subresource: str, phase: Phase
    ) -> tuple[CompiledRule, ...]:
        """The rules of a phase that can match objects of a kind, in order."""
        key = (kind, subresource, phase)
        rules = self._found.get(key)
        if rules is None:
            forms = self.forms(kind, subresource, phase)
            rules = tuple(rule for _, rule in forms if rule is not None)
            self._found[key] = rules
        return rules

    def forms(
        self, kind: GroupVersionKind, subresource: str, phase: Phase
    ) -> Iterator[tuple[Rule, CompiledRule | None]]:
        """Yield the rules and forms of a phase, in order, for objects of a kind; None for a rule
        that never matches them."""
        if phase is Phase.VALIDATE:
            rules = rules_for_kind(self.policy, self._extended, kind.kind)
        else:
            rules = all_rules(self.policy)
        for index, rule in enumerate(rules):
            if not _runs_in(rule, phase):
                continue
            matches = bind_match(rule.match, rule.exclude, self.policy.namespace, kind, subresource)
            if matches is None and phase is not Phase.GENERATE:
                yield rule, None
                continue
            if not self.exceptions:
                bound: tuple[BoundException, ...] = ()
            else:
                from chartkit.engine.cluster_policy.exceptions import bind_exceptions

                bound = bind_exceptions(
                    self.exceptions, self.policy.key, rule.name, kind, subresource
                )
            # Kyverno looks at exceptions of generate rules before it looks at their match.
            if matches is None and not bound:
                yield rule, None
            else:
                yield rule, self._bind(index, rule, matches or never, bound, phase)

    def _bind(
        self,
        index: int,
        rule: Rule,
        matches: Predicate,
        bound: tuple[BoundException, ...],
        phase: Phase,
    ) -> CompiledRule | None:
        body_key = _body_key(index, rule, self.policy)
        rule_body = self._bodies.get(body_key)
        if rule_body is None:
            try:
                rule_body = _compile_body(rule, self.policy)
            except ChartkitError as error:
                fail = raising(EvaluationError, error.message)
                rule_body = RuleBody(compile_entries(()), None, fail, None, has_context=False)
            self._bodies[body_key] = rule_body
        body, key = rule_body, self.policy.key
        if phase is Phase.GENERATE:
            from chartkit.engine.cluster_policy.generate import BackgroundRule

            return BackgroundRule(rule, key, always, bound, body, speaks=matches)
        if rule.kind is RuleKind.VERIFY_IMAGES:
            from chartkit.engine.cluster_policy.verify_images import ImageRule, ImagesHandler

            images = body.handle
            assert isinstance(images, ImagesHandler)
            if phase is Phase.VALIDATE:
                body = body._replace(handle=images.validate)
            says = phase is Phase.IMAGES or images.validates
            return ImageRule(rule, key, matches, bound, body, images) if says else None
        if PHASES[rule.kind] is not phase:
            return None
        return CompiledRule(rule, key, matches, bound, body)


_AROUND: Final = frozenset({RuleKind.GENERATE, RuleKind.MANIFESTS, RuleKind.MUTATE_EXISTING})


def _looks_around(rule: Rule) -> bool:
    has_parameters = rule.kind is RuleKind.CEL and "paramRef" in (rule.validate.cel or {})
    return rule.kind in _AROUND or has_parameters or _has_context(rule.body)


def _has_context(value: Json) -> bool:
    if isinstance(value, dict):
        return "context" in value or any(map(_has_context, value.values()))
    return isinstance(value, list) and any(map(_has_context, value))


def _body_key(index: int, rule: Rule, policy: Policy) -> _BodyKey:
    # Rules for pod controllers differ by kind in their match alone, and stand in one order. What
    # is asked of an object before its update sees that match.
    return index, rule.name, rule.match.kinds if looks_back(rule, policy) else ()


def _runs_in(rule: Rule, phase: Phase) -> bool:
    """Images are verified in their own phase, and the results are validated later."""
    if rule.kind is RuleKind.VERIFY_IMAGES and phase is Phase.VALIDATE:
        return True
    return PHASES[rule.kind] is phase


def compile_policy(
    resource: Resource,
    exceptions: Sequence[PolicyException] = (),
    cluster_wide: IsClusterWide = nothing_cluster_wide,
) -> CompiledPolicy:
    """Compiles a ClusterPolicy or Policy of kyverno.io, with the PolicyExceptions there are.

    cluster_wide: which kinds stand outside namespaces, for what generate rules may generate there;
    by default none, as for Kyverno's command-line program without a cluster.

    Raises CompileError with every diagnostic found where Kyverno's webhook refuses the policy or
    its custom resource definition would not take it.
    """
    policy = read_policy(resource)
    check_policy(policy, cluster_wide)
    phases = frozenset(phase for phase in Phase for rule in policy.rules if _runs_in(rule, phase))
    if not policy.match_conditions:
        webhook: WebhookConditions | None = None
    else:
        from chartkit.engine.cluster_policy.validate_cel import WebhookConditions

        webhook = WebhookConditions(policy.match_conditions)
    compiled = CompiledPolicy(
        policy,
        tuple(exceptions),
        phases,
        policy.annotations.get(_SCORED) != "false",
        webhook,
        cluster_wide,
        controllers(policy),
    )
    for index, rule in enumerate(policy.rules):
        compiled._bodies[_body_key(index, rule, policy)] = _compile_body(rule, policy)
    return compiled


_SCORED: Final = "policies.kyverno.io/scored"
