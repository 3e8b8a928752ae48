"""Expressions that many policies have word for word: compiled once, computed once a request.

`variables.containers` is the same text in a dozen policies of one standard. A program that sees
nothing of its policy gives all of them the same value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from chartkit.engine.cel.ast import Call, Comprehension, Ident
from chartkit.engine.cel.compile import compile_expression
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.nodes import nodes
from chartkit.engine.cel.program.program import Program

_OWN: Final = ("variables", "params")
"""What a policy's environment may have beside that of its kind."""
_REQUEST: Final = frozenset(("object", "oldObject", "request", "namespaceObject"))


def shareable(text: str, environment: Environment) -> bool:
    """Whether an expression means the same in every policy of a kind; environment: the kind's."""
    name = environment.name
    own = any(each in text for each in _OWN)
    return not own and name in ENVIRONMENTS and ENVIRONMENTS[name] is environment


@lru_cache(maxsize=4096)
def shared_program(text: str, environment: str) -> Program:
    """The program of a shareable expression, by its environment's name.

    Raises CelCompileError.
    """
    return compile_expression(text, ENVIRONMENTS[environment])


@lru_cache(maxsize=4096)
def sees_the_request_alone(program: Program) -> bool:
    """Whether a program's value depends on nothing but the request: it names no other variable,
    and asks neither the cluster nor the clock nor chance."""
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
