"""From a CEL policy to something that runs: one compiler a kind, in an explicit table."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.cel_policies.autogen import extended, mutations_rewritten
from chartkit.engine.cel_policies.exceptions import CelException, exceptions_of
from chartkit.engine.cel_policies.judging import Judge
from chartkit.engine.cel_policies.kinds.admission_mutating import compile_mutating_admission
from chartkit.engine.cel_policies.kinds.admission_validating import compile_validating_admission
from chartkit.engine.cel_policies.kinds.generating import GeneratingJudge
from chartkit.engine.cel_policies.kinds.image_digests import DigestJudge
from chartkit.engine.cel_policies.kinds.image_validating import ImageValidatingJudge
from chartkit.engine.cel_policies.kinds.mutating import MutatingJudge
from chartkit.engine.cel_policies.kinds.validating import ValidatingJudge
from chartkit.engine.cel_policies.policy import ADMISSION_KINDS, CelKind, CelPolicy
from chartkit.engine.cel_policies.reader import read_cel_policy
from chartkit.engine.cel_policies.run import CelView
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_custom
from chartkit.engine.request.phase import AUDIT, ENFORCE, Phase
from chartkit.engine.request.request import Request
from chartkit.engine.request.run import Run
from chartkit.model import Diagnostic, Json, Resource, RuleResult, Status


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands beside a policy and changes it: exceptions, and bindings of any policy."""

    exceptions: Sequence[CelException] = ()
    bindings: Sequence[Resource] = ()


Compiler = Callable[[CelPolicy, Surroundings], tuple[Judge, ...]]


def _validating(policy: CelPolicy, around: Surroundings) -> tuple[Judge, ...]:
    exceptions = _exceptions(policy, around)
    environment = _environment("vpol", policy)
    forms = (policy, *extended(policy))
    return tuple(ValidatingJudge(form, environment, exceptions) for form in forms)


def _mutating(policy: CelPolicy, around: Surroundings) -> tuple[Judge, ...]:
    exceptions = _exceptions(policy, around)
    environment = _environment("mpol", policy)
    forms = (policy, *extended(policy, mutations_rewritten))
    return tuple(MutatingJudge(form, environment, exceptions) for form in forms)


def _image_validating(policy: CelPolicy, around: Surroundings) -> tuple[Judge, ...]:
    exceptions = _exceptions(policy, around)
    environment = ENVIRONMENTS["ivpol-json"] if policy.json else _environment("ivpol", policy)
    forms = (policy, *extended(policy))
    judges = [ImageValidatingJudge(form, environment, exceptions) for form in forms]
    settings = policy.spec.get("validationConfigurations") or {}
    if policy.json or settings.get("mutateDigest") is False:
        return tuple(judges)
    return (*judges, *(DigestJudge(form, environment, exceptions) for form in forms))


def _generating(policy: CelPolicy, around: Surroundings) -> tuple[Judge, ...]:
    environment = _environment("gpol", policy)
    return (GeneratingJudge(policy, environment, _exceptions(policy, around)),)


def _validating_admission(policy: CelPolicy, around: Surroundings) -> tuple[Judge, ...]:
    return compile_validating_admission(policy, around.bindings)


def _mutating_admission(policy: CelPolicy, around: Surroundings) -> tuple[Judge, ...]:
    return compile_mutating_admission(policy, around.bindings)


def _exceptions(policy: CelPolicy, around: Surroundings) -> tuple[CelException, ...]:
    return exceptions_of(policy, around.exceptions)


def _environment(name: str, policy: CelPolicy) -> Environment:
    """The environment of a kind; a policy of a namespace has functions that stay in it."""
    return ENVIRONMENTS[f"n{name}" if policy.namespace else name]


KINDS: Final[dict[CelKind, tuple[Phase, Compiler]]] = {
    CelKind.VALIDATING: (Phase.VALIDATE, _validating),
    CelKind.MUTATING: (Phase.MUTATE, _mutating),
    CelKind.IMAGE_VALIDATING: (Phase.VALIDATE, _image_validating),
    CelKind.GENERATING: (Phase.GENERATE, _generating),
    CelKind.MUTATING_ADMISSION: (Phase.MUTATE, _mutating_admission),
    CelKind.VALIDATING_ADMISSION: (Phase.VALIDATE, _validating_admission),
}
"""When each kind runs, and what compiles it."""


_ASKING: Final = re.compile(r"\b(resource|globalContext|http|image\w*|params|[gG]etMetadata)\b")


def texts_of(value: Json) -> Iterator[str]:
    """Every text in a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    members = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list)):
        for member in members:
            yield from texts_of(member)


@dataclass(frozen=True, slots=True)
class CompiledCelPolicy:
    """A policy that is ready to run: itself, and its forms for pod controllers."""

    policy: CelPolicy
    phases: frozenset[Phase]
    judges: tuple[Judge, ...]
    scored: bool = True
    _by_kind: dict[tuple[str, ...], tuple[Judge, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def judges_json(self) -> bool:
        return self.policy.json

    @property
    def runs_in_api_server(self) -> bool:
        return self.policy.kind in ADMISSION_KINDS

    @property
    def source(self) -> str:
        kind = self.policy.kind
        return kind.value if kind in ADMISSION_KINDS else f"Kyverno{kind}"

    def action(self, _rule: str, _namespace: str, _labels: Mapping[str, str] | None = None) -> str:
        actions = self.actions
        return ENFORCE if not actions or "Deny" in actions else AUDIT

    def warnings(self) -> tuple[Diagnostic, ...]:
        from chartkit.engine.cel_policies.admission.api_server import refused_by_server
        from chartkit.engine.cel_policies.checks import cluster_refusals, without_effect
        from chartkit.engine.cel_policies.misspelt import misspelt_fields

        checks = (cluster_refusals, without_effect, refused_by_server, misspelt_fields)
        return tuple(diagnostic for check in checks for diagnostic in check(self.policy))

    def rules_in(self, phases: Collection[Phase]) -> tuple[str, ...]:
        return () if self.phases.isdisjoint(phases) else ("",)

    def concerns(self, request: Request) -> bool:
        return bool(self.judges_of(Attributes(request)))

    def run_phase(self, run: Run, phase: Phase, results: list[RuleResult]) -> None:
        view = run.view(CelView)
        admission = view.admission(self)
        made: list[RuleResult] = []
        for judge in self.judges_of(admission.attributes):
            if judge.phase in (None, phase):
                admission = view.evaluate(self, judge, admission, made)
        if phase is Phase.IMAGES:
            # Kyverno reports no digest that was added, only those that could not be.
            made = [one for one in made if one.status is not Status.PASS]
        results += made

    def run_forms(self, run: Run, phase: Phase) -> Iterator[tuple[CelPolicy, list[RuleResult]]]:
        view = run.view(CelView)
        admission = view.admission(self)
        for judge in self.judges:
            if judge.phase in (None, phase):
                results: list[RuleResult] = []
                admission = view.evaluate(self, judge, admission, results)
                yield judge.policy, results

    def judges_of(self, attributes: Attributes) -> tuple[Judge, ...]:
        """The forms that may say something of a request, by its kind alone."""
        found = self._by_kind.get(attributes.kind_key)
        if found is None:
            found = tuple(judge for judge in self.judges if judge.concerns(attributes))
            self._by_kind[attributes.kind_key] = found
        return found

    @property
    def actions(self) -> tuple[str, ...]:
        """What a failure leads to, in any of its forms; none: the default, which is to deny."""
        return tuple(dict.fromkeys(action for judge in self.judges for action in judge.actions))

    @property
    def looks_around(self) -> bool:
        spec = self.policy.spec
        if "paramKind" in spec or "mutateExisting" in (spec.get("evaluation") or {}):
            return True
        return any(map(_ASKING.search, texts_of(spec)))

    def plural(self, kind: GroupVersionKind) -> str:
        """The resource name of a custom kind, where the constraints tell it; else empty."""
        if not is_custom(kind):
            return ""
        lowered = kind.kind.lower()
        constraints = self.policy.constraints
        for rule in constraints.rules if constraints is not None else ():
            for resource in rule.resources:
                name = resource.partition("/")[0]
                if name.lower() == lowered:
                    return name
        return ""


def compile_cel_policy(
    resource: Resource,
    exceptions: Sequence[CelException] = (),
    bindings: Sequence[Resource] = (),
    allows_http: bool = False,
) -> CompiledCelPolicy:
    """Compiles a policy whose rules are CEL, with the exceptions and bindings there are.

    allows_http: whether policies of a namespace may call services.

    Raises CompileError with every diagnostic where its definition does not take it or an
    expression does not compile.
    """
    policy = replace(read_cel_policy(resource), allows_http=allows_http)
    phase, compiler = KINDS[policy.kind]
    judges = compiler(policy, Surroundings(exceptions, bindings))
    phases = frozenset(phase if one.phase is None else one.phase for one in judges)
    scored = policy.annotations.get("policies.kyverno.io/scored") != "false"
    return CompiledCelPolicy(policy, phases or frozenset({phase}), judges, scored)
