"""Calls of functions: their arguments, as the functions want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.jmespath.functions import FUNCTIONS
from chartkit.addons.migrate.jmespath.functions.declaration import required
from chartkit.addons.migrate.jmespath.projections import BY_EXPRESSION
from chartkit.addons.migrate.jmespath.terms import Term, computed, constant_result, double_of
from chartkit.engine.jmespath.functions import FUNCTIONS as DECLARED
from chartkit.engine.jmespath.nodes import Kind, Node

if TYPE_CHECKING:
    from chartkit.addons.migrate.jmespath.translate import Translator

_OF_NUMBERS: Final = ("max", "min", "sum")


def called(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return what a function gives; raises `NotConvertible`."""
    function = FUNCTIONS.get(node.value)
    known = function is not None or node.value in BY_EXPRESSION
    if node.value not in DECLARED or not (known or _is_constant(node)):
        raise NotConvertible(f"the function {node.value} has no form in CEL yet")
    declared, given = DECLARED[node.value], len(node.children)
    least = len(declared.parameters)
    if given < least or (given > least and not declared.variadic):
        raise NotConvertible(f"the function {node.value} with a wrong number of arguments")
    if node.value in BY_EXPRESSION:
        return BY_EXPRESSION[node.value](translator, node, current)
    args = [_argument(translator, node.value, each, current) for each in node.children]
    if translator.decides:
        typed = zip(args, declared.parameters, strict=False)
        args[:least] = [required(term, type_) for term, type_ in typed]
    found = constant_result(node.value, args)
    if found is not None:
        return found
    if function is None:
        raise NotConvertible(f"the function {node.value} has no form in CEL yet")
    return function(translator.names, args)


def _argument(translator: Translator, function: str, node: Node, current: Term | None) -> Term:
    if function in _OF_NUMBERS and node.kind is Kind.MULTI_SELECT_LIST:
        # Null among numbers is an error.
        numbers = [double_of(translator.node(each, current)) for each in node.children]
        return computed(cel.list_of(numbers), "[]double")
    return translator.node(node, current)


def _is_constant(node: Node) -> bool:
    """Return whether a call's arguments are written out, or may be."""
    return all(each.kind is not Kind.EXPREF for each in node.children)
