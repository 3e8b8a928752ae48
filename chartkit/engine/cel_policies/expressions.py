"""A policy's expressions made into programs; every problem is collected with its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from chartkit.engine.cel import compile_expression, types
from chartkit.engine.cel.ast import Call, Comprehension, Ident, nodes
from chartkit.engine.cel.checker import UndefinedField
from chartkit.engine.cel.declarations import Environment, StructType, Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError, CelError, Issue
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.policy import CelPolicy, NamedExpression, Validation, field_at
from chartkit.engine.kubernetes.kinds import CEL_ENVIRONMENTS, CelKind
from chartkit.errors import CompileError
from chartkit.go.strconv import quote
from chartkit.model import Diagnostic, Severity
from chartkit.suggestions import did_you_mean, suggestion

_REQUEST: Final = frozenset(("object", "oldObject", "request", "namespaceObject"))
_OWN: Final = ("variables", "params")
"""The variables that a policy's environment adds to the environment of its kind."""

Fields = tuple[tuple[str, Type], ...]
"""The names of a policy's variables with their types, in their order."""


def names_its_own(text: str) -> bool:
    """Report whether an expression may name what its policy alone has; all others mean the same in
    every policy of a kind."""
    return any(name in text for name in _OWN)


@lru_cache(maxsize=4096)
def shared_program(text: str, environment: Environment) -> Program:
    """The program of an expression, made once for an environment; raises CelCompileError."""
    return compile_expression(text, environment)


@lru_cache(maxsize=512)
def with_variables(kind: Environment, struct: str, fields: Fields) -> Environment:
    """The environment of a kind with the `variables` of a policy, one for all that have the same.

    struct: what the type of `variables` is called.
    """
    return kind.extend(
        variables={"variables": Variable(types.struct(struct))},
        structs=(StructType(struct, dict(fields)),),
    )


@lru_cache(maxsize=4096)
def sees_the_request_alone(program: Program) -> bool:
    """Report whether a program's value depends on nothing but the request: it names no other
    variable, and asks neither the cluster nor the clock nor chance."""
    functions = program.environment.functions
    bound: set[str] = set()
    named: set[str] = set()
    for node in nodes(program.root):
        if isinstance(node, Comprehension):
            bound |= {node.iter_var, node.iter_var2, node.accu_var}
        elif isinstance(node, Ident):
            named.add(node.name)
        elif isinstance(node, Call):
            declared = functions.get(node.function)
            if declared is not None and any(overload.hosted for overload in declared.overloads):
                return False
    # A name of the environment that a macro takes for its own may stand outside of it, too.
    return named - (bound - program.environment.variables.keys()) <= _REQUEST


EXPRESSION_RULE: Final = "policy-expression"
"""The id of diagnostics for expressions that do not compile."""

_VARIABLES: Final = "kyverno.variables"
_UNDECLARED: Final = re.compile(r"undeclared reference to '([\w.]+)'")
_UNDEFINED: Final = re.compile(r"undefined field '(\w+)'")


@dataclass(frozen=True, slots=True)
class CompiledValidation:
    """A compiled validation; message_expression: None if there is none."""

    validation: Validation
    program: Program
    message_expression: Program | None


def environment_of(policy: CelPolicy) -> Environment:
    """The environment of a policy's kind; a policy of a namespace has functions that stay in it."""
    if policy.json and policy.kind is CelKind.IMAGE_VALIDATING:
        return ENVIRONMENTS["ivpol-json"]
    name = CEL_ENVIRONMENTS[policy.kind]
    return ENVIRONMENTS[f"n{name}" if policy.namespace else name]


class ExpressionCompiler:
    """Compiles the expressions of one policy; `variables` grows as they are compiled.

    environment: None for the environment of the policy's kind.

    As in a cluster, the first list with a problem ends it: what follows may depend on it.
    """

    def __init__(self, policy: CelPolicy, environment: Environment | None = None) -> None:
        self._policy = policy
        self._fields: dict[str, Type] = {}
        self._kind = environment or environment_of(policy)
        self._problems: list[Diagnostic] = []

    @property
    def environment(self) -> Environment:
        """The kind's environment with the variables so far."""
        return with_variables(self._kind, _VARIABLES, tuple(self._fields.items()))

    def one(self, path: str, text: str, expected: Sequence[Type] = ()) -> Program | None:
        """The program of an expression at a path of the specification; None if it has a problem.

        expected: the types that its result may have statically; none: any.
        """
        try:
            program = shared_program(text, self.environment if names_its_own(text) else self._kind)
        except CelCompileError as error:
            offset = next(
                (issue.offset for issue in error.issues if issue.offset is not None), None
            )
            self.refuse(path, text, error.text, offset, self._hint(error.issues))
            return None
        if expected and program.output_type not in expected:
            names = " or ".join(kind.name for kind in expected)
            either = "either of type " if len(expected) > 1 else "of type "
            self.refuse(path, text, f"output is expected to be {either}{names}")
            return None
        return program

    def conditions(
        self, expressions: Sequence[NamedExpression], path: str = "spec.matchConditions"
    ) -> tuple[Program, ...]:
        """The programs of match conditions; raises CompileError for those that do not compile."""
        programs = [
            self.one(f"{path}[{index}].expression", expression.expression, (types.BOOL,))
            for index, expression in enumerate(expressions)
        ]
        self.check()
        return tuple(program for program in programs if program is not None)

    def variables(self, expressions: Sequence[NamedExpression]) -> dict[str, Program]:
        """The programs of variables, each of which sees those before it."""
        programs: dict[str, Program] = {}
        for index, expression in enumerate(expressions):
            program = self.one(f"spec.variables[{index}].expression", expression.expression)
            if program is not None:
                programs[expression.name] = program
                self._fields[expression.name] = program.output_type
        self.check()
        return programs

    def validations(self, validations: Sequence[Validation]) -> tuple[CompiledValidation, ...]:
        """The programs of validations and of their messages."""
        compiled: list[CompiledValidation] = []
        for index, validation in enumerate(validations):
            path = f"spec.validations[{index}]"
            program = self.one(f"{path}.expression", validation.expression, (types.BOOL,))
            self.check()
            message = None
            if validation.message_expression:
                text = validation.message_expression
                message = self.one(f"{path}.messageExpression", text, (types.STRING,))
                self.check()
            if program is not None:
                compiled.append(CompiledValidation(validation, program, message))
        return tuple(compiled)

    def audit_annotations(self, expressions: Sequence[NamedExpression]) -> dict[str, Program]:
        """The programs of audit annotations, by key."""
        programs: dict[str, Program] = {}
        for index, expression in enumerate(expressions):
            path = f"spec.auditAnnotations[{index}].valueExpression"
            program = self.one(path, expression.expression, (types.STRING, types.NULL))
            if program is not None:
                programs[expression.name] = program
        self.check()
        return programs

    def check(self) -> None:
        """Raise CompileError if there are problems."""
        if self._problems:
            raise CompileError(self._problems)

    def refuse(
        self, path: str, text: str, problem: str, offset: int | None = None, hint: str | None = None
    ) -> None:
        """Note a problem with a text, at one of its characters; `check` raises it."""
        message = f"{path}: Invalid value: {quote(text)}: {problem}"
        location = field_at(self._policy, path, offset)
        self._problems.append(Diagnostic(EXPRESSION_RULE, Severity.ERROR, message, location, hint))

    def _hint(self, issues: Sequence[Issue]) -> str | None:
        """The name that was perhaps meant by the first unknown one."""
        for issue in issues:
            if named := _UNDECLARED.match(issue.message):
                return suggestion(
                    named[1], (*self.environment.functions, *self.environment.variables)
                )
            if isinstance(issue, UndefinedField) and issue.field:
                return did_you_mean([issue.suggestion] if issue.suggestion else [])
            if named := _UNDEFINED.match(issue.message):
                return suggestion(named[1], self._fields)
        return None


def expressions_of(policy: CelPolicy) -> Iterator[tuple[str, str, tuple[Type, ...]]]:
    """The path, text and expected types (none: any) of each expression that most kinds have."""
    for index, named in enumerate(policy.conditions):
        yield f"spec.matchConditions[{index}].expression", named.expression, (types.BOOL,)
    for index, named in enumerate(policy.variables):
        yield f"spec.variables[{index}].expression", named.expression, ()
    for index, validation in enumerate(policy.validations):
        path = f"spec.validations[{index}]"
        yield f"{path}.expression", validation.expression, (types.BOOL,)
        if validation.message_expression:
            yield f"{path}.messageExpression", validation.message_expression, (types.STRING,)
    for index, named in enumerate(policy.annotations_made):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        yield path, named.expression, (types.STRING, types.NULL)


T = TypeVar("T")


def holds(
    conditions: Sequence[Program],
    scope: Mapping[str, Value],
    host: Host,
    ignores_errors: bool,
) -> bool:
    """Report whether all conditions hold; a failure to evaluate counts as no if errors are ignored.

    Raises CelError with every failure's text otherwise.
    """
    failures = failed(lambda program: program.evaluate(scope, host), conditions)
    if failures and not ignores_errors:
        raise CelError("; ".join(failures))
    return failures == []


def failed(evaluate: Callable[[T], Value], conditions: Iterable[T]) -> list[str] | None:
    """Return why conditions cannot be evaluated, if none is false; None if one is.

    evaluate: raises CelError.
    """
    failures: list[str] = []
    for condition in conditions:
        try:
            if evaluate(condition) is False:
                return None
        except CelError as error:
            failures.append(error.message)
    return failures
