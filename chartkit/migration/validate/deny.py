"""Deny conditions: what must not hold."""

from __future__ import annotations

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conditions import conditions_hold
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.jmespath import Names
from chartkit.model import Body


def denied(deny: Body, names: Names) -> Expr:
    """Return whether a `deny` refuses; raises `NotConvertible`."""
    conditions = deny.get("conditions")
    if not conditions:
        raise NotConvertible("a deny without conditions refuses everything", "validate/deny")
    found = conditions_hold(conditions, names)
    if found == cel.FALSE:
        raise NotConvertible("its conditions can never hold", "validate/deny/conditions")
    return found
