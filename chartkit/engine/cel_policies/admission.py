"""The parts of Kubernetes' own admission policies: expressions, bindings, parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from weakref import ref

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Environment, Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.types import Type, TypeKind
from chartkit.engine.cel.values import SCALARS, Value
from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.expressions import (
    Fields,
    failed,
    names_its_own,
    shared_program,
    with_variables,
)
from chartkit.engine.cel_policies.policy import (
    CelPolicy,
    MatchConstraints,
    NamedExpression,
    Validation,
    read_constraints,
)
from chartkit.engine.cel_policies.scope import Deferred, PolicyScope, once
from chartkit.engine.kubernetes.definitions import (
    SCHEMA_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.kinds import ADMISSION_VERSIONS, BINDINGS, is_binding
from chartkit.engine.kubernetes.selectors import Labelled, compile_selector, read_selector
from chartkit.engine.ports.services import Cluster, ObjectKey, labels_of
from chartkit.errors import CompileError, EvaluationError, Reraise
from chartkit.go.strconv import quote
from chartkit.model import Body, Diagnostic, Json, Location, Resource, Severity, mapping_at


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding of a policy; constraints: None if it narrows nothing."""

    name: str
    constraints: Constraints | None
    params: ParamRef | None
    actions: tuple[str, ...]
    location: Location


def bindings_of(policy: CelPolicy, resources: Sequence[Resource]) -> tuple[Binding, ...]:
    """The bindings of a policy, in order; raises CompileError for one that its schema refuses."""
    return tuple(
        _read(policy, resource)
        for resource in resources
        if resource.kind == f"{policy.kind}Binding"
        and mapping_at(resource.body, "spec").get("policyName") == policy.name
    )


def unbound_faults(resources: Sequence[Resource]) -> Iterator[Diagnostic]:
    """Yield the faults of bindings whose policy is not among some objects, or is not named.

    Those of a policy that is there are checked with it.
    """
    policies = {(resource.kind, resource.name) for resource in resources}
    for binding in filter(is_binding, resources):
        named = mapping_at(binding.body, "spec").get("policyName")
        if isinstance(named, str) and (binding.kind.removesuffix("Binding"), named) in policies:
            continue
        try:
            _check(binding)
        except CompileError as error:
            yield from error.diagnostics
            continue
        if not named:
            message = f"{binding.kind} {binding.name}: spec.policyName: Required value"
            hint = "without it the binding binds nothing, and an API server refuses it"
            yield Diagnostic(
                SCHEMA_RULE,
                Severity.ERROR,
                message,
                binding.location.within("/spec/policyName"),
                hint,
            )


def _check(resource: Resource) -> None:
    check_served(resource, ADMISSION_VERSIONS, BINDINGS)
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
        resource.location,
    )


@dataclass(frozen=True, slots=True)
class ParamRef:
    """The objects of a kind that are a policy's parameters: one by its name, or all that a selector
    matches. namespace: empty for the request's own; fits: the selector, None for all; allows_none:
    whether a request is admitted if there are none."""

    api_version: str
    kind: str
    name: str
    namespace: str
    fits: Labelled | None
    allows_none: bool

    def find(self, namespace: str, cluster: Cluster) -> tuple[Body, ...]:
        """The parameters for a request in a namespace; raises EvaluationError, in the words of an
        API server, where the reference cannot be used."""
        if cluster.is_cluster_scoped(self.api_version, self.kind):
            if self.namespace:
                raise EvaluationError(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                )
            where = ""
        else:
            where = self.namespace or namespace
            if not where:
                raise EvaluationError(
                    "can't use namespaced paramRef to match cluster-scoped resources"
                )
        if self.name:
            body = cluster.find(ObjectKey(self.api_version, self.kind, where, self.name))
            return () if body is None else (body,)
        listed = cluster.select(self.api_version, self.kind, where, None)
        fits = self.fits
        return tuple(listing for listing in listed if fits is None or fits(labels_of(listing)))


def read_param_ref(kind: Json, reference: Json) -> ParamRef | None:
    """Reads `paramKind` and `paramRef`, whose schemas were checked; None without both."""
    if not kind or not reference:
        return None
    selector = read_selector(reference.get("selector"))
    return ParamRef(
        api_version=kind.get("apiVersion") or "",
        kind=kind.get("kind") or "",
        name=reference.get("name") or "",
        namespace=reference.get("namespace") or "",
        fits=None if selector is None else compile_selector(selector),
        allows_none=reference.get("parameterNotFoundAction") == "Allow",
    )


Scope = Mapping[str, Value]

_VARIABLES: Final = "kubernetes.variables"
_PARAMS: Final = "params"
_PLAIN: Final = frozenset(type_.kind for type_ in SCALARS.values()) | {
    *(TypeKind.ANY, TypeKind.DURATION, TypeKind.TIMESTAMP)
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression, or why it does not compile."""

    text: str
    program: Program | None
    problem: str = ""

    def evaluate(self, scope: Scope) -> Value:
        """The value; raises CelError in the words of an API server."""
        if self.program is None:
            raise CelError(f"compilation error: {self.problem}")
        with Reraise(f"expression '{self.text}' resulted in error: ", CelError, CelError):
            return self.program.evaluate(scope, OFFLINE)


class AdmissionExpressions:
    """Compiles the expressions of one policy, which all see its variables."""

    __slots__ = ("_fields", "_has_params", "_kind", "_variables")

    def __init__(
        self, environment: Environment, variables: Sequence[NamedExpression], has_params: bool
    ) -> None:
        self._kind = environment
        self._has_params = has_params
        self._fields: dict[str, Type] = {}
        self._variables: dict[str, Expression] = {}
        for expression in variables:
            compiled = self.compile(expression.expression)
            program = compiled.program
            self._variables[expression.name] = compiled
            self._fields[expression.name] = _declared(program.output_type) if program else types.DYN

    def compile(self, text: str, expected: Sequence[Type] = ()) -> Expression:
        """An expression that sees the variables; expected: its allowed types, empty for any."""
        try:
            if not names_its_own(text):
                program: Program = shared_program(text, self._kind)
            else:
                fields = tuple(self._fields.items())
                program = shared_program(text, _environment(self._kind, fields, self._has_params))
        except CelCompileError as error:
            if error.issues[0].offset is None:
                return Expression(text, None, f"program instantiation failed: {error.text}")
            return Expression(text, None, f"compilation failed: {error.text}")
        if expected and program.output_type not in expected:
            names = " ".join(map(str, expected))
            wanted = names if len(expected) == 1 else f"one of [{names}]"
            actual = program.output_type
            return Expression(text, None, f"must evaluate to {wanted} but got {actual}")
        return Expression(text, program)

    def variables(
        self, scope: PolicyScope, computed: dict[Program, Value] | None = None
    ) -> Mapping[str, Value]:
        """The value of `variables` in a scope; computed: values that are known for its request."""
        return _Variables(self._variables, scope, computed)

    @property
    def programs(self) -> Mapping[str, Program]:
        """Return the programs of the variables that compile."""
        return {name: made.program for name, made in self._variables.items() if made.program}


def known_conditions(policy: CelPolicy) -> list[tuple[NamedExpression, Program]]:
    """Return the match conditions of a policy of Kyverno's with their programs; none if an API
    server cannot compile one of them, and Kyverno alone looks at them."""
    expressions = AdmissionExpressions(ENVIRONMENTS["k8s"], (), has_params=False)
    conditions = []
    for condition in policy.conditions:
        program = expressions.compile(condition.expression, (types.BOOL,)).program
        if program is None:
            return []
        conditions.append((condition, program))
    return conditions


def has_own_webhook(policy: CelPolicy) -> bool:
    """Report whether Kyverno makes a webhook of a policy alone, because that has something to say:
    match conditions that an API server knows, a timeout, `matchPolicy: Exact` (`buildWebhookRules`
    in `pkg/controllers/webhook/validating.go`)."""
    timeout = mapping_at(policy.spec, "webhookConfiguration").get("timeoutSeconds")
    return is_exact(policy) or timeout is not None or bool(known_conditions(policy))


def is_exact(policy: CelPolicy) -> bool:
    """Report whether a policy asks for requests of exactly its versions alone."""
    return mapping_at(policy.spec, "matchConstraints").get("matchPolicy") == "Exact"


@lru_cache(maxsize=512)
def _environment(kind: Environment, fields: Fields, has_params: bool) -> Environment:
    """The environment of a kind with a policy's variables; `params` is there where it has some."""
    environment = with_variables(kind, _VARIABLES, fields)
    names = {name: variable for name, variable in environment.variables.items() if name != _PARAMS}
    if has_params:
        names[_PARAMS] = Variable(types.DYN)
    return replace(environment, variables=MappingProxyType(names))


def _declared(type_: Type) -> Type:
    """The type that a variable is declared with: named types become dynamic."""
    if type_.kind in (TypeKind.LIST, TypeKind.MAP):
        return replace(type_, parameters=tuple(map(_declared, type_.parameters)))
    return type_ if type_.kind in _PLAIN else types.DYN


class _Variables(Deferred):
    """A policy's `variables`, with the words of an API server for their errors."""

    __slots__ = ("_computed", "_expressions", "_scope")

    def __init__(
        self,
        expressions: Mapping[str, Expression],
        scope: PolicyScope,
        computed: dict[Program, Value] | None,
    ) -> None:
        """scope: it has these variables, and does not live on for them."""
        super().__init__(expressions)
        self._computed = computed
        self._expressions = expressions
        self._scope = ref(scope)

    def compute(self, name: str) -> Value:
        """The value of a variable; raises CelError."""
        expression, scope = self._expressions[name], self._scope()
        assert scope is not None
        if expression.program is None:
            raise CelError(
                f"composited variable {quote(name)} fails to compile: {expression.problem}"
            )
        try:
            return once(expression.program, scope, OFFLINE, self._computed)
        except CelError as error:
            text = f"composited variable {quote(name)} fails to evaluate: {error.message}"
            raise CelError(text) from error


_LONGEST_MESSAGE: Final = 5 * 1024
"""Bytes; a longer text of a message expression is passed over."""


@dataclass(frozen=True, slots=True)
class Denial:
    """The reason why a request is not admitted; is_error: because something could not be
    evaluated; fields: JSON pointers of the object's fields that it is about."""

    message: str
    is_error: bool = False
    fields: tuple[str, ...] = ()


SKIPPED: Final = Denial("")
"""The match conditions leave the request alone."""


@dataclass(frozen=True, slots=True)
class _Validation:
    validation: Validation
    expression: Expression
    message: Expression | None


class AdmissionValidation:
    """The compiled match conditions, variables and validations of a policy."""

    __slots__ = ("_conditions", "_constraints", "_ignores_errors", "_validations", "expressions")

    def __init__(
        self,
        environment: Environment,
        *,
        conditions: Sequence[NamedExpression] = (),
        variables: Sequence[NamedExpression] = (),
        validations: Sequence[Validation] = (),
        constraints: MatchConstraints | None = None,
        has_params: bool = False,
        ignores_errors: bool = False,
    ) -> None:
        self._ignores_errors = ignores_errors
        self._constraints = constraints
        self.expressions = AdmissionExpressions(environment, variables, has_params)
        compile_ = self.expressions.compile
        self._conditions = [compile_(item.expression, (types.BOOL,)) for item in conditions]
        self._validations = [
            _Validation(
                validation,
                compile_(validation.expression, (types.BOOL,)),
                compile_(validation.message_expression, (types.STRING,))
                if validation.message_expression
                else None,
            )
            for validation in validations
        ]

    def decide(
        self, request: Mapping[str, Value], params: Body | None = None, *, wants_fields: bool = True
    ) -> Denial | None:
        """Return the reason why a request is not admitted; None if it is.

        request: a `server_scope`; match conditions do not see its `namespaceObject`; wants_fields:
        whether the reason names fields.
        """
        scope = PolicyScope(request)
        scope["params"] = params
        if self._conditions:
            scope["namespaceObject"] = None
            scope["variables"] = self.expressions.variables(scope)
            failures = failed(lambda expression: expression.evaluate(scope), self._conditions)
            if failures == []:
                decision: Denial | None = None
            elif failures is None or self._ignores_errors:
                decision = SKIPPED
            else:
                unlike = list(dict.fromkeys(failures))
                text = unlike[0] if len(unlike) == 1 else f"[{', '.join(unlike)}]"
                decision = Denial(text, is_error=True)
            if decision is not None:
                return decision
            scope["namespaceObject"] = request["namespaceObject"]
        scope["variables"] = self.expressions.variables(scope, scope.computed)
        for validation in self._validations:
            try:
                if validation.expression.evaluate(scope) is True:
                    continue
                denial = Denial(_message(validation, scope))
            except CelError as error:
                denial = Denial(error.message, is_error=True)
            if not wants_fields:
                return denial
            return replace(denial, fields=self._fields(validation.expression.program, scope))
        return None

    def _fields(self, failed: Program | None, scope: Mapping[str, Value]) -> tuple[str, ...]:
        from chartkit.engine.cel_policies.fields import Matching, fields_of

        if failed is None:
            return ()
        asked = [condition.program for condition in self._conditions if condition.program]
        matching = Matching(asked, self._constraints)
        return fields_of(failed, scope, self.expressions.programs, OFFLINE, matching)


def _message(failed: _Validation, scope: Mapping[str, Value]) -> str:
    """The message expression's text, if it is one line and not too long; else the message."""
    if failed.message is not None:
        try:
            text = str(failed.message.evaluate(scope)).strip()
        except CelError:
            text = ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return (
        failed.validation.message.strip()
        or f"failed expression: {failed.validation.expression.strip()}"
    )
