"""What `policies lint` and `render` report of policies together: a place, a message and a hint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chartkit.addons.satisfy.conflicts.mutations import unsettled
from chartkit.addons.satisfy.conflicts.rules import (
    Conflict,
    Together,
    Undecided,
    conflicts,
    shadowed,
    together,
)
from chartkit.addons.satisfy.formula import TRUE
from chartkit.addons.satisfy.wants.rules import Want
from chartkit.engine import RunnablePolicy
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.model import Location, Severity, path_text
from chartkit.wording import abridged

Found = tuple[Severity | None, Location, str, str | None]
"""A severity (None: that of the rule), a place, a message and a hint."""

_LAST: list[tuple[tuple[RunnablePolicy, ...], tuple[Together, ...]]] = []
"""The policies that were asked about last: the rules ask about the same ones."""


def _together(policies: Sequence[RunnablePolicy]) -> tuple[Together, ...]:
    asked = tuple(policies)
    if not _LAST or list(map(id, _LAST[0][0])) != list(map(id, asked)):
        _LAST[:] = [(asked, together(asked))]
    return _LAST[0][1]


def conflicting(policies: Sequence[RunnablePolicy]) -> Iterator[Found]:
    """Yield the rules that no object passes together, and those of which that is not decided."""
    for each in conflicts(_together(policies)):
        yield _conflict(each) if isinstance(each, Conflict) else _undecided(each)


def _conflict(conflict: Conflict) -> Found:
    first, *others = conflict.wants
    narrow = any(want.applies is not TRUE for want in conflict.wants)
    which = f"{conflict.kind} that these rules match" if narrow else conflict.kind
    about = f" ({', '.join(conflict.fields)})" if conflict.fields else ""
    names = ", ".join(map(_name, conflict.wants))
    places = "; ".join(f"{_name(want)}: {want.location}" for want in others)
    smallest = "without any one of them an object passes; " if conflict.is_minimal else ""
    message = f"no {which} passes all of {names}{about}"
    return None, first.location, message, f"{smallest}change one of them: {places}"


def _undecided(undecided: Undecided) -> Found:
    names = abridged([_name(want) for want in undecided.wants])
    message = f"whether a {undecided.kind} passes all of these rules is not decided: {names}"
    return Severity.NOTE, undecided.wants[0].location, message, None


def _name(want: Want) -> str:
    return f"{want.policy}/{written_name(want.rule)}" if want.rule else want.policy


def shadowing(policies: Sequence[RunnablePolicy]) -> Iterator[Found]:
    """Yield the rules that decide nothing, because another one denies what they apply to."""
    for each in shadowed(_together(policies)):
        denying = each.denying
        message = f"{_name(each.rule)} decides nothing: {_name(denying)} denies every {each.kind}"
        hint = f"remove one of them; the other is at {denying.location}"
        yield None, each.rule.location, f"{message} that it applies to", hint


def unsettling(policies: Sequence[RunnablePolicy]) -> Iterator[Found]:
    """Yield the mutations that undo each other, and those that never settle."""
    by_id = {policy.policy.id: policy for policy in policies}
    for each in unsettled(policies):
        names = [f"{policy}/{written_name(rule)}" for policy, rule in each.rules]
        location = by_id[each.rules[0][0]].policy.resource.location
        field = path_text(each.field)
        if len(names) > 1:
            first, second = (str(value) for value in each.values)
            what = f"undo each other: {field} of a {each.kind} becomes {first}, then {second}"
            yield None, location, f"{names[0]} and {names[1]} {what}", "let one of them set it"
        else:
            what = f"changes {field} of a {each.kind} again each time that it is applied"
            hint = "let it match only objects without the change: mutations are applied again"
            yield None, location, f"{names[0]} never settles: it {what}", hint
