"""From a CEL policy to something that runs: one compiler a kind, in an explicit table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.autogen import extended, mutations_rewritten, of_templates
from chartkit.engine.cel_policies.evaluator import Evaluator
from chartkit.engine.cel_policies.exceptions import CelException, exceptions_of
from chartkit.engine.cel_policies.kinds.admission_mutating import compile_mutating_admission
from chartkit.engine.cel_policies.kinds.admission_validating import compile_validating_admission
from chartkit.engine.cel_policies.kinds.generating import GeneratingEvaluator
from chartkit.engine.cel_policies.kinds.image_digests import DigestEvaluator
from chartkit.engine.cel_policies.kinds.image_validating import ImageValidatingEvaluator
from chartkit.engine.cel_policies.kinds.mutating import MutatingEvaluator
from chartkit.engine.cel_policies.kinds.validating import ValidatingEvaluator
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.reader import read_cel_policy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.templates import TemplateEvaluator
from chartkit.engine.kubernetes.policy_kinds import CelKind
from chartkit.engine.request.phase import Phase
from chartkit.model import Resource

_Exceptions = tuple[CelException, ...]
_Evaluators = tuple[Evaluator, ...]
_Compiler = Callable[[CelPolicy, _Exceptions], _Evaluators]
_Binder = Callable[[CelPolicy, Sequence[Resource]], _Evaluators]


def _validating(policy: CelPolicy, exceptions: _Exceptions) -> _Evaluators:
    environment = _environment("vpol", policy)
    forms = (policy, *extended(policy))
    found = [ValidatingEvaluator(form, environment, exceptions) for form in forms]
    return (*found, *_of_templates(policy, found[0]))


def _mutating(policy: CelPolicy, exceptions: _Exceptions) -> _Evaluators:
    environment = _environment("mpol", policy)
    forms = (policy, *extended(policy, mutations_rewritten))
    found = [MutatingEvaluator(form, environment, exceptions) for form in forms]
    return (*found, *_of_templates(policy, found[0]))


def _image_validating(policy: CelPolicy, exceptions: _Exceptions) -> _Evaluators:
    environment = ENVIRONMENTS["ivpol-json"] if policy.json else _environment("ivpol", policy)
    forms = (policy, *extended(policy))
    found = [ImageValidatingEvaluator(form, environment, exceptions) for form in forms]
    evaluators = (*found, *_of_templates(policy, found[0]))
    settings = policy.spec.get("validationConfigurations") or {}
    if policy.json or settings.get("mutateDigest") is False:
        return evaluators
    return (*evaluators, *(DigestEvaluator(form, environment, exceptions) for form in forms))


def _of_templates(policy: CelPolicy, pods: Evaluator) -> tuple[Evaluator, ...]:
    form = of_templates(policy)
    return () if form is None else (TemplateEvaluator(form, pods),)


def _generating(policy: CelPolicy, exceptions: _Exceptions) -> _Evaluators:
    environment = _environment("gpol", policy)
    return (GeneratingEvaluator(policy, environment, exceptions),)


def _environment(name: str, policy: CelPolicy) -> Environment:
    """The environment of a kind; a policy of a namespace has functions that stay in it."""
    return ENVIRONMENTS[f"n{name}" if policy.namespace else name]


_KINDS: Final[dict[CelKind, tuple[Phase, _Compiler]]] = {
    CelKind.VALIDATING: (Phase.VALIDATE, _validating),
    CelKind.MUTATING: (Phase.MUTATE, _mutating),
    CelKind.IMAGE_VALIDATING: (Phase.VALIDATE, _image_validating),
    CelKind.GENERATING: (Phase.GENERATE, _generating),
}
"""The phase of each kind of Kyverno's, and its compiler; it takes the policy's exceptions."""
_BOUND: Final[dict[CelKind, tuple[Phase, _Binder]]] = {
    CelKind.MUTATING_ADMISSION: (Phase.MUTATE, compile_mutating_admission),
    CelKind.VALIDATING_ADMISSION: (Phase.VALIDATE, compile_validating_admission),
}
"""Those of Kubernetes' own kinds; their compilers take the bindings of any policy."""


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
    if policy.kind in _BOUND:
        phase, bound = _BOUND[policy.kind]
        evaluators = bound(policy, bindings)
    else:
        phase, compiler = _KINDS[policy.kind]
        evaluators = compiler(policy, exceptions_of(policy, exceptions))
    phases = frozenset(phase if one.phase is None else one.phase for one in evaluators)
    scored = policy.annotations.get("policies.kyverno.io/scored") != "false"
    return CompiledCelPolicy(policy, phases or frozenset({phase}), evaluators, scored)
