"""GeneratingPolicy: the objects that its expressions and templates make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

from chartkit.engine.cel import types
from chartkit.engine.cel.cluster_host import ClusterHost
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.evaluator import Admission, Evaluator, audit_annotations, new_host
from chartkit.engine.cel_policies.exceptions import CelException, Exceptions
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, holds
from chartkit.engine.cel_policies.generation import Template, TemplateError
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Attributes, PolicyScope, Variables
from chartkit.engine.why import Decision
from chartkit.errors import ChartkitError, Reraise
from chartkit.go.strconv import quote
from chartkit.model import Body, RuleResult, RuleType, Status, text_of, value_at

DONE = "policy evaluated successfully"


class GeneratingEvaluator(Evaluator):
    """A compiled GeneratingPolicy."""

    type = RuleType.GENERATION

    def __init__(self, policy: CelPolicy, exceptions: Sequence[CelException]) -> None:
        """Raises CompileError where an expression or a template does not compile."""
        super().__init__(policy)
        compiler = ExpressionCompiler(policy)
        self._conditions = compiler.conditions(policy.conditions)
        self._variables = compiler.variables(policy.variables)
        self._steps = [
            _compile_step(compiler, f"spec.generate[{index}]", body)
            for index, body in enumerate(policy.spec["generate"])
        ]
        self._annotations = compiler.audit_annotations(policy.annotations_made)
        self._exceptions = Exceptions(exceptions, compiler)

    def speaks_of(self, attributes: Attributes) -> bool:
        """As for other policies, but for deletions: Kyverno asks about what has no namespace."""
        if self.policy.namespace not in ("", attributes.namespace):
            return False
        return self._constraints is not None and self._constraints.match(_as_asked(attributes))

    def why_match(self, attributes: Attributes) -> Decision:
        return super().why_match(_as_asked(attributes))

    def concerns(self, attributes: Attributes) -> bool:
        return super().concerns(_as_asked(attributes))

    def unmatched(self, error: ChartkitError) -> RuleResult:
        return replace(super().unmatched(error), rule=self.policy.name)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The policy's one result, with what it made; nothing where a condition does not hold."""
        policy = self.policy
        host = new_host(policy, admission.world)
        scope = PolicyScope(admission.scope)
        try:
            allowed = self._exceptions.ask(scope, host, ignores_errors=False)
            if allowed.full:
                return allowed.result(self)
            scope["exceptions"] = allowed.variable()
            if not holds(self._conditions, scope, host, ignores_errors=False):
                return None
            scope["variables"] = Variables(self._variables, scope, host)
            for step in self._steps:
                if isinstance(step, Template):
                    _apply(step, scope, host, policy.namespace)
                elif step is not None:
                    step.evaluate(scope, host)
            properties = audit_annotations(self._annotations, scope, host, quote)
        except CelError as error:
            text = f"failed to evaluate policy: {error.message}"
            return self.result(Status.ERROR, text, policy.name)
        result = self.result(Status.PASS, DONE, policy.name, properties)
        return replace(result, generated=tuple(host.generated))


def _as_asked(attributes: Attributes) -> Attributes:
    """The attributes that constraints are asked about; without an object after a deletion."""
    if attributes.object is not None:
        return attributes
    asked = copy(attributes)
    asked.namespace = ""
    asked.kind_key = (*attributes.kind_key[:-1], "")
    return asked


def _compile_step(compiler: ExpressionCompiler, path: str, body: Body) -> Program | Template | None:
    template: Body | None = body.get("template")
    if template is None:
        text = body.get("expression") or ""
        program = compiler.one(f"{path}.expression", text, (types.BOOL,))
        compiler.check()
        return program
    try:
        return Template(
            template["value"], template.get("interpolate") == "cel", compiler.environment
        )
    except TemplateError as error:
        compiler.refuse(f"{path}.template.value", template["value"], str(error))
        compiler.check()
        return None


def _apply(
    template: Template, scope: Mapping[str, Value], host: ClusterHost, namespace: str
) -> None:
    """Hands on what a template makes, by namespace; a namespaced policy stays in its own."""
    with Reraise("failed to render generation template: ", CelError, CelError):
        made = template.render(scope, host)
    by_namespace: dict[str, list[Body]] = {}
    for body in made:
        wanted = text_of(value_at(body, ("metadata", "namespace")))
        if namespace and wanted not in ("", namespace):
            raise CelError(
                f"cross-namespace generation denied: a policy in namespace {quote(namespace)} "
                f"cannot generate resources into namespace {quote(wanted)}"
            )
        by_namespace.setdefault(wanted or namespace, []).append(body)
    for target, bodies in by_namespace.items():
        with Reraise("failed to generate resources: ", CelError, CelError):
            host.generate(target, bodies)
