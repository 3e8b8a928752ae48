"""Deny conditions: what must not hold."""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.addons.migrate.conditions import condition_holds, conditions_hold, may_fail
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.jmespath import Names
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.conditions.parse import Blocks, FlatList, parse_conditions
from chartkit.model import Body, Json


def denied(deny: Body, names: Names) -> Expr:
    """Return whether a `deny` refuses; raises `NotConvertible`."""
    conditions = deny.get("conditions")
    if not conditions:
        raise NotConvertible("a deny without conditions refuses everything", "validate/deny")
    found = conditions_hold(conditions, names)
    if found == cel.FALSE and may_fail(conditions, names):
        # All that it refuses is what its conditions cannot be evaluated of.
        raise NotConvertible("its conditions can never hold", "validate/deny/conditions")
    return found


def denial_texts(body: Json, own: str, names: Names) -> list[tuple[Expr, str]]:
    """Return the texts of a denial in the order in which they are chosen, each with its condition.

    own: the rule's message, behind which Kyverno writes those of the conditions that decided.
    """
    parsed = parse_conditions(body)
    if isinstance(parsed, FlatList):
        return [
            (cel.TRUE, _joined((own, _joined((each.message for each in parsed.conditions), ";"))))
        ]
    every = [each.message for each in parsed.all or ()]
    return [
        (condition_holds(each, names), _joined((own, each.message, *every)))
        for each in parsed.any or ()
    ] or [(cel.TRUE, _joined((own, *every)))]


def _joined(messages: Iterable[str], separator: str = "; ") -> str:
    return separator.join(filter(None, messages))


def refuse_messages(body: Json) -> None:
    """Raise `NotConvertible` for conditions with messages of their own."""
    parsed = parse_conditions(body)
    blocks = Blocks(None, parsed.conditions) if isinstance(parsed, FlatList) else parsed
    if any(each.message for each in (*(blocks.any or ()), *(blocks.all or ()))):
        raise NotConvertible("a condition with a message of its own in a foreach")
