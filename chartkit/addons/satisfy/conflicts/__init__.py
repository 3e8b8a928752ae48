"""Rules that no object keeps together, and mutations that do not settle, as findings of `policies
lint` and `render`: location, message, hint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap

from chartkit.addons.satisfy.conflicts.mutations import Unapplied, Unsettled, unsettled
from chartkit.addons.satisfy.conflicts.rules import (
    Conflict,
    Shadowed,
    Undecided,
    conflicts,
    shadowed,
    together,
)
from chartkit.addons.satisfy.formula import TRUE
from chartkit.addons.satisfy.wants import Want
from chartkit.engine import RunnablePolicy
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.why import value_text
from chartkit.model import Location, Severity, path_text
from chartkit.wording import abridged

Found = tuple[Severity | None, Location, str, str | None]
"""A severity (None for the rule's own), a location, a message and a hint."""

CONFLICT = "CK751"
"""The ID of rules that exclude each other."""
_SHADOWED = "CK752"
_UNSETTLED = "CK753"
_FEWER = "check fewer policies in one run"


def findings(policies: Sequence[RunnablePolicy]) -> Iterator[tuple[str, *Found]]:
    """Yield the findings about policies together, each behind the ID of its rule."""
    wants = together(policies)
    for conflict in conflicts(wants):
        yield (
            CONFLICT,
            *(_conflict(conflict) if isinstance(conflict, Conflict) else _undecided(conflict)),
        )
    for shadow in shadowed(wants):
        yield _SHADOWED, *(_shadowed(shadow) if isinstance(shadow, Shadowed) else _unseen(shadow))
    by_id = {policy.policy.id: policy for policy in policies}
    for change in unsettled(policies):
        yield (
            _UNSETTLED,
            *(_unsettled(change, by_id) if isinstance(change, Unsettled) else _unapplied(change)),
        )


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
    message = f"whether a {undecided.kind} can pass all of these rules is not decided: {names}"
    return Severity.NOTE, undecided.wants[0].location, message, _FEWER


def _name(want: Want) -> str:
    return _rule_name(want.policy, want.rule)


def _rule_name(policy: str, rule: str) -> str:
    return f"{policy}/{written_name(rule)}" if rule else policy


def _shadowed(shadow: Shadowed) -> Found:
    denying = shadow.denying
    message = f"{_name(shadow.rule)} decides nothing: {_name(denying)} denies every {shadow.kind}"
    hint = f"remove one of them; the other is at {denying.location}"
    return None, shadow.rule.location, f"{message} that it applies to", hint


def _unseen(undecided: Undecided) -> Found:
    names = abridged([_name(want) for want in undecided.wants])
    message = f"whether another rule leaves these nothing to decide is not decided: {names}"
    return Severity.NOTE, undecided.wants[0].location, message, _FEWER


def _unsettled(loop: Unsettled, policies: Mapping[str, RunnablePolicy]) -> Found:
    names = list(starmap(_rule_name, loop.rules))
    location = policies[loop.rules[0][0]].policy.resource.location
    field = path_text(loop.field)
    if len(names) > 1:
        first, second = map(value_text, loop.values)
        what = f"undo each other: {field} of a {loop.kind} becomes {first}, then {second}"
        return None, location, f"{names[0]} and {names[1]} {what}", "let one of them set it"
    what = f"changes {field} of a {loop.kind} again each time that it is applied"
    hint = "let it match only objects without the change: mutations are applied again"
    return None, location, f"{names[0]} never settles: it {what}", hint


def _unapplied(unapplied: Unapplied) -> Found:
    names = abridged([policy.policy.name for policy in unapplied.policies])
    message = f"whether the mutations of a {unapplied.kind} settle is not decided: {names}"
    return Severity.NOTE, unapplied.policies[0].policy.resource.location, message, _FEWER
