"""MutatingPolicy: apply configurations and JSON patches, each of which sees what came before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.values import Struct
from chartkit.engine.cel_policies.checks import refusals
from chartkit.engine.cel_policies.constraints import Constraints, of_any_operation
from chartkit.engine.cel_policies.evaluator import (
    EVALUATION,
    Admission,
    Evaluator,
    audit_annotations,
)
from chartkit.engine.cel_policies.exceptions import CelException, Exceptions
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, holds
from chartkit.engine.cel_policies.patches.apply_configuration import apply_configuration
from chartkit.engine.cel_policies.patches.json_patch import apply_json_patch
from chartkit.engine.cel_policies.patches.written import Written
from chartkit.engine.cel_policies.policy import CelPolicy, named_expressions, read_constraints
from chartkit.engine.cel_policies.scope import Attributes, PolicyScope, Variables
from chartkit.engine.ports.services import Cluster, ObjectKey, key_of
from chartkit.engine.request import Request
from chartkit.errors import CompileError, EvaluationError
from chartkit.go.strconv import quote
from chartkit.model import Body, Resource, RuleResult, RuleType, Status

OBJECT: Final = types.struct("Object")
PATCHES: Final = types.list_of(types.struct("JSONPatch"))
_SELECTED: Final = types.map_of(types.STRING, types.ANY)

Mutation = Callable[[PolicyScope, Host, Body], Body]
"""From the variables, the world and an object to the object as it becomes; raises CelError."""


class MutatingEvaluator(Evaluator):
    """A compiled MutatingPolicy."""

    type = RuleType.MUTATION

    def __init__(self, policy: CelPolicy, exceptions: Sequence[CelException]) -> None:
        """Raises CompileError where an expression does not compile, or Kyverno refuses it."""
        super().__init__(policy)
        refused = refusals(policy)
        if refused:
            raise CompileError(refused)
        compiler = ExpressionCompiler(policy)
        self._variables = compiler.variables(policy.variables)
        self._conditions = compiler.conditions(policy.conditions)
        self._targets = _compile_targets(policy, compiler)
        targets: Body = policy.spec.get("targetMatchConstraints") or {}
        self._names_targets = bool(targets.get("resourceRules") or targets.get("expression"))
        self._exceptions = Exceptions(exceptions, compiler)
        self._annotations = compiler.audit_annotations(policy.annotations_made)
        evaluation: Body = policy.spec.get("evaluation") or {}
        atomic = evaluation.get("useServerSideApply") is True
        mutations: list[Mutation] = []
        for index, body in enumerate(policy.spec.get("mutations") or ()):
            path = f"spec.mutations[{index}]"
            if body.get("patchType") == "JSONPatch" and body.get("jsonPatch") is not None:
                text = body["jsonPatch"].get("expression") or ""
                program = compiler.one(f"{path}.jsonPatch.expression", text, (PATCHES,))
                if program is not None:
                    mutations.append(json_patching(program))
            elif body.get("patchType") == "ApplyConfiguration" and (
                body.get("applyConfiguration") is not None
            ):
                text = body["applyConfiguration"].get("expression") or ""
                program = compiler.one(f"{path}.applyConfiguration.expression", text, (OBJECT,))
                if program is not None:
                    mutations.append(applying(program, self._variables, atomic))
            compiler.check()
        self._mutations = tuple(mutations)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """Return the results for the request's object, and for existing targets."""
        scope = PolicyScope(admission.scope, changes=True)
        # What is admitted only sets off a policy that names its targets.
        mutations = () if self._names_targets else self._mutations
        body = admission.attributes.object
        result = self._mutate(admission, scope, body, self._conditions, mutations)
        if self._names_targets:
            result = replace(result, patched=None)
        if self._targets is None or result.status is not Status.PASS:
            return result
        return replace(result, others=tuple(self._existing(admission, self._targets)))

    def _mutate(
        self,
        admission: Admission,
        scope: PolicyScope,
        body: Body | None,
        conditions: Sequence[Program],
        mutations: Sequence[Mutation],
    ) -> RuleResult:
        host = self.host(admission)
        try:
            allowed = self._exceptions.ask(scope, host, ignores_errors=False)
            if allowed.full:
                return allowed.result(self)
            scope["exceptions"] = allowed.variable()
            scope["variables"] = Variables(self._variables, scope, host)
            if not holds(conditions, scope, host, ignores_errors=False):
                return self.result(Status.SKIP, "skip")
            patched = {} if body is None else body
            for mutate in mutations:
                patched = mutate(scope, host, patched)
                scope["object"] = patched
            properties = audit_annotations(self._annotations, scope, host, quote)
        except CelError as error:
            text = f"failed to evaluate policy: {error.message}"
            return self.result(Status.ERROR, text, EVALUATION)
        made = self.result(Status.PASS, "success", properties=properties)
        return made if body is None else replace(made, patched=patched)

    def _existing(self, admission: Admission, targets: _Targets) -> Iterator[RuleResult]:
        """Return the results for the objects of the cluster that are the policy's targets."""
        cluster = admission.world.api.cluster(self.policy.name, "")
        try:
            scope = PolicyScope(admission.scope, changes=True)
            scope["variables"] = Variables(self._variables, scope, self.host(admission))
            wanted = targets.find(scope, self.host(admission), cluster)
            there = [target for target in cluster.of_kinds(wanted.kind) if wanted.object(target)]
        except EvaluationError as error:
            yield self.result(Status.ERROR, f"failed to find targets: {error.message}", EVALUATION)
            return
        for body in there:
            scope = PolicyScope(admission.scope, changes=True)
            scope["object"] = body
            scope["oldObject"] = None
            conditions = targets.conditions
            result = self._mutate(admission, scope, body, conditions, self._mutations)
            if result.status is not Status.SKIP:
                # Kyverno writes no target that stays as it is.
                changed = None if result.patched == body else result.patched
                yield replace(result, patched=None, patched_target=changed)


@dataclass(frozen=True, slots=True)
class _Targets:
    """The existing objects that a policy changes, too."""

    constraints: Constraints | None
    expression: Program | None
    conditions: tuple[Program, ...]

    def find(self, scope: PolicyScope, host: Host, cluster: Cluster) -> _Wanted:
        """Return a test for targets; cluster: knows the names of kinds in URLs. Raises CelError
        if the expression has no value."""
        if self.expression is not None:
            # The keys of an object, or of the items of a list of them
            value = self.expression.evaluate(scope, host)
            if not isinstance(value, dict):
                named: frozenset[ObjectKey] = frozenset()
            else:
                items = value.get("items")
                members = items if isinstance(items, list) else [value]
                named = frozenset(key_of(member) for member in members if isinstance(member, dict))
            kinds = {(key.api_version, key.kind) for key in named}
            return _Wanted(
                lambda target: key_of(target)[:2] in kinds, lambda body: key_of(body) in named
            )
        constraints = self.constraints
        if constraints is None:
            return _Wanted(lambda _one: False, lambda _body: False)

        def attributes(body: Body) -> Attributes:
            resource = Resource(body)
            return Attributes(
                Request(resource, plural=cluster.plural(resource.api_version, resource.kind))
            )

        def fits(body: Body) -> bool:
            try:
                return constraints.match(attributes(body))
            except EvaluationError:
                return False

        return _Wanted(lambda body: constraints.concern(attributes(body)), fits)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """kind: whether any object of the kind of one may be a target; object: whether that one is."""

    kind: Callable[[Body], bool]
    object: Callable[[Body], bool]


def _compile_targets(policy: CelPolicy, compiler: ExpressionCompiler) -> _Targets | None:
    wanted: Body = policy.spec.get("targetMatchConstraints") or {}
    text = wanted.get("expression") or ""
    program = None
    if text:
        path = "spec.targetMatchConstraints.expression"
        program = compiler.one(path, text)
        if program is not None and program.output_type != _SELECTED:
            compiler.refuse(path, text, "output type must be a map")
    conditions = named_expressions(policy.spec.get("targetMatchConditions"))
    evaluation: Body = policy.spec.get("evaluation") or {}
    existing: Body = evaluation.get("mutateExisting") or {}
    compiled = compiler.conditions(conditions, "spec.targetMatchConditions")
    if existing.get("enabled") is not True:
        return None
    constraints = read_constraints(wanted) if wanted.get("resourceRules") else policy.constraints
    if constraints is None:
        return _Targets(None, program, compiled)
    selected = Constraints(of_any_operation(constraints), selects_nothing=False)
    return _Targets(selected, program, compiled)


def json_patching(program: Program) -> Mutation:
    """A mutation by the operations that an expression gives."""

    def mutate(scope: PolicyScope, host: Host, body: Body) -> Body:
        value = program.evaluate(scope, host)
        return apply_json_patch(value if isinstance(value, list) else [], body)

    return mutate


def applying(program: Program, variables: Mapping[str, Program], atomic: bool) -> Mutation:
    """A mutation by the configuration that an expression gives; atomic: whether it may replace
    what is merged as a whole."""
    written = Written(program, variables)

    def mutate(scope: PolicyScope, host: Host, body: Body) -> Body:
        value = program.evaluate(scope, host)
        if not isinstance(value, Struct):
            raise CelError("the expression gives no apply configuration")
        return apply_configuration(value, body, written, atomic)

    return mutate
