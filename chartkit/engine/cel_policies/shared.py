"""Expressions that many policies have word for word: compiled once, computed once a request.

`variables.containers` is the same text in a dozen policies of one standard, and a policy is the
same in most environments but for its action. A program that sees nothing of its policy gives all
of them the same value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from chartkit.engine.cel import compile_expression, types
from chartkit.engine.cel.ast import Call, Comprehension, Ident, nodes
from chartkit.engine.cel.declarations import Environment, StructType, Variable
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.types import Type

_REQUEST: Final = frozenset(("object", "oldObject", "request", "namespaceObject"))
_OWN: Final = ("variables", "params")
"""The parts of a policy's environment in addition to that of its kind."""

Fields = tuple[tuple[str, Type], ...]
"""The names of a policy's variables with their types, in their order."""


def names_its_own(text: str) -> bool:
    """Return whether an expression may name what its policy alone has; all others mean the same
    in every policy of a kind."""
    return any(each in text for each in _OWN)


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
    """Return whether a program's value depends on nothing but the request: it names no other
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
            if declared is not None and any(one.hosted for one in declared.overloads):
                return False
    # A name of the environment that a macro takes for its own may stand outside of it, too.
    return named - (bound - program.environment.variables.keys()) <= _REQUEST
