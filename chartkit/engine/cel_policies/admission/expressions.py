"""Expressions as Kubernetes' admission plugins compile and evaluate them.

One that does not compile fails when it is evaluated, and the others go on. What fails to evaluate
says which expression it was. Source: k8s.io/apiserver `pkg/admission/plugin/cel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Environment, Variable
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.types import Type, TypeKind
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.policy import MatchConstraints, NamedExpression
from chartkit.engine.cel_policies.scope import Deferred, once
from chartkit.engine.cel_policies.shared import (
    Fields,
    names_its_own,
    shared_program,
    with_variables,
)
from chartkit.errors import Reraise
from chartkit.go.strconv import quote

Scope = Mapping[str, Value]

_VARIABLES: Final = "kubernetes.variables"
_PARAMS: Final = "params"
_PLAIN: Final = frozenset(
    {
        TypeKind.ANY,
        TypeKind.BOOL,
        TypeKind.BYTES,
        TypeKind.DOUBLE,
        TypeKind.DURATION,
        TypeKind.INT,
        TypeKind.NULL,
        TypeKind.STRING,
        TypeKind.TIMESTAMP,
        TypeKind.UINT,
    }
)


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
        for each in variables:
            compiled = self.compile(each.expression)
            program = compiled.program
            self._variables[each.name] = compiled
            self._fields[each.name] = _declared(program.output_type) if program else types.DYN

    def compile(self, text: str, expected: Sequence[Type] = ()) -> Expression:
        """An expression that sees the variables; expected: what it may come to, none: anything."""
        try:
            program = self._program(text)
        except CelCompileError as error:
            if error.issues[0].offset is None:
                return Expression(text, None, f"program instantiation failed: {error.text}")
            return Expression(text, None, f"compilation failed: {error.text}")
        if expected and program.output_type not in expected:
            names = " ".join(map(str, expected))
            wanted = names if len(expected) == 1 else f"one of [{names}]"
            found = program.output_type
            return Expression(text, None, f"must evaluate to {wanted} but got {found}")
        return Expression(text, program)

    def _program(self, text: str) -> Program:
        if not names_its_own(text):
            return shared_program(text, self._kind)
        fields = tuple(self._fields.items())
        return shared_program(text, _environment(self._kind, fields, self._has_params))

    def variables(
        self, scope: Scope, computed: dict[Program, Value] | None = None
    ) -> Mapping[str, Value]:
        """Return the value of `variables` in a scope; computed: values that are known for its
        request."""
        return _Variables(self._variables, scope, computed)

    def fields_of(
        self,
        expression: Expression,
        scope: Scope,
        conditions: Sequence[Expression],
        constraints: MatchConstraints | None,
    ) -> tuple[str, ...]:
        """Return the JSON pointers of the fields over which an expression failed.

        conditions, constraints: of the policy, which speak of the request.
        """
        from chartkit.engine.cel_policies.fields import Matching, fields_of

        if expression.program is None:
            return ()
        programs = {name: one.program for name, one in self._variables.items() if one.program}
        asked = [one.program for one in conditions if one.program]
        matching = Matching(asked, constraints)
        return fields_of(expression.program, scope, programs, OFFLINE, matching)


@lru_cache(maxsize=512)
def _environment(kind: Environment, fields: Fields, has_params: bool) -> Environment:
    """The environment of a kind with a policy's variables; `params` is there where it has some."""
    found = with_variables(kind, _VARIABLES, fields)
    names = {name: one for name, one in found.variables.items() if name != _PARAMS}
    if has_params:
        names[_PARAMS] = Variable(types.DYN)
    return replace(found, variables=MappingProxyType(names))


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
        scope: Scope,
        computed: dict[Program, Value] | None,
    ) -> None:
        super().__init__(expressions)
        self._computed = computed
        self._expressions = expressions
        self._scope = scope

    def compute(self, name: str) -> Value:
        """The value of a variable; raises CelError."""
        expression = self._expressions[name]
        if expression.program is None:
            raise CelError(
                f"composited variable {quote(name)} fails to compile: {expression.problem}"
            )
        try:
            return once(expression.program, self._scope, OFFLINE, self._computed)
        except CelError as error:
            text = f"composited variable {quote(name)} fails to evaluate: {error.message}"
            raise CelError(text) from error
