"""Calls of functions that say nothing of the request: their results are known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.jmespath.terms import Constant, Term, is_json
from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.compiler import compile_node
from chartkit.engine.jmespath.declaration import ItemsList, to_json
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.errors import ChartkitError

EXACT: Final = 2**53
"""Whole numbers below this are exact as floats, which are JMESPath's numbers."""
_VARYING: Final = frozenset(
    (
        *("random", "time_now", "time_now_utc", "time_since"),
        *("is_external_url", "image_normalize"),
    )
)
"""Functions whose results differ from call to call, or by the cluster that asks."""


def constant_result(name: str, args: Sequence[Term]) -> Constant | None:
    """Return what a function gives for arguments that are written out; None for other arguments.

    Raises `NotConvertible` where it fails for them.
    """
    values = [each.value for each in args if isinstance(each, Constant) and is_json(each.value)]
    if name in _VARYING or len(values) < len(args):
        return None
    literals = tuple(Node(Kind.LITERAL, value) for value in values)
    try:
        call = compile_node(Node(Kind.FUNCTION_EXPRESSION, name, literals))
        made = call(None, Budget())
        if isinstance(made, ItemsList):
            # To other functions it is no list.
            return None
        found = to_json(made)
    except ChartkitError as error:
        raise NotConvertible(f"the function {name} fails: {error.message}") from None
    is_whole = isinstance(found, float) and found.is_integer() and 0 < abs(found) < EXACT
    return Constant(int(found) if is_whole else found)
