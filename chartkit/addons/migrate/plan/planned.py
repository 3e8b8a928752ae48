"""The plan of a migration: a verdict on each rule of each legacy object, and what blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Final

from chartkit.addons.migrate.conversion import LegacyRule, RuleOutcome
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.plan.inventory import Inventory, LegacyObject, Origin
from chartkit.errors import ChartkitError
from chartkit.model import Diagnostic, Location, Resource

_AS_FIRST: Final = "as for the first rule"


class Convertibility(StrEnum):
    """The answer to whether a rule converts to the kinds of policies.kyverno.io."""

    CONVERTS = "converts"
    CHANGES = "changes"
    BY_HAND = "by-hand"
    UNKNOWN = "unknown"


Converter = Callable[[Resource], Sequence[RuleOutcome]]
"""A function that converts a legacy object, with an outcome for each rule, none for what it does
not know; it raises ChartkitError for an object that cannot be converted at all."""


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """A rule and its verdict.

    notes: the behaviour that changes, or why it is done by hand; replaced_by: `Kind/name` of the
    documents that take over; nearest: the nearest CEL of a rule that is done by hand.
    """

    rule: LegacyRule
    verdict: Convertibility
    location: Location
    notes: tuple[str, ...] = ()
    replaced_by: tuple[str, ...] = ()
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class PlannedObject:
    """A legacy object and its rules, each with a verdict."""

    legacy: LegacyObject
    rules: tuple[PlannedRule, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """objects: each of them blocks the upgrade, also those that convert; faults, unread: as of the
    inventory."""

    objects: tuple[PlannedObject, ...]
    faults: tuple[Diagnostic, ...]
    unread: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """2 for input that cannot be used, 1 where an object blocks or may, else 0."""
        if self.faults:
            return 2
        return 1 if self.objects or self.unread else 0

    def by_kind(self) -> Mapping[str, Tally]:
        """Return the totals of each kind, sorted."""
        return _tallies((each.legacy.resource.kind, each.rules) for each in self.objects)

    def by_origin(self) -> Sequence[tuple[Origin, int]]:
        """Return how many objects each origin generated, most first."""
        counts = Counter(planned_object.legacy.origin for planned_object in self.objects)
        return sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))

    def by_type(self) -> Mapping[str, Tally]:
        """Return the totals of each type of rule, sorted; objects: those that have such a rule."""
        return _tallies(chain.from_iterable(map(_by_type, self.objects)))


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of objects, and of their rules by verdict."""

    objects: int
    verdicts: Counter[Convertibility]


def make_plan(inventory: Inventory, converter: Converter | None = None) -> Plan:
    """Return the plan for an inventory; converter: that of its objects for None."""
    if converter is None:
        batch = Batch(legacy_object.resource for legacy_object in inventory.objects)
        converter = lambda legacy: batch.convert(legacy).outcomes  # noqa: E731
    objects = tuple(PlannedObject(each, _planned(each, converter)) for each in inventory.objects)
    return Plan(objects, inventory.faults, inventory.unread)


def _planned(legacy: LegacyObject, converter: Converter) -> tuple[PlannedRule, ...]:
    if legacy.refusal:
        return _all(legacy, Convertibility.BY_HAND, legacy.refusal)
    try:
        outcomes = list(converter(legacy.resource))
    except ChartkitError as error:
        return _all(legacy, Convertibility.BY_HAND, error.message)
    return tuple(_rule(legacy, rule, outcomes) for rule in legacy.rules)


def _all(legacy: LegacyObject, verdict: Convertibility, reason: str) -> tuple[PlannedRule, ...]:
    """Return all rules of an object with one verdict; the reason, which may be as long as the
    object, is with the first."""
    return tuple(
        PlannedRule(rule, verdict, legacy.locate(rule.pointer), (_AS_FIRST if at else reason,))
        for at, rule in enumerate(legacy.rules)
    )


def _rule(legacy: LegacyObject, rule: LegacyRule, outcomes: list[RuleOutcome]) -> PlannedRule:
    """Return the plan of a rule by the first outcome of its name, which is taken out."""
    outcome = next((each for each in outcomes if each.rule == rule.name), None)
    if outcome is None:
        location = legacy.locate(rule.pointer)
        return PlannedRule(rule, Convertibility.UNKNOWN, location)
    outcomes.remove(outcome)
    location = legacy.locate(outcome.location.path or rule.pointer)
    if not outcome.converted:
        notes = (outcome.reason,)
        return PlannedRule(rule, Convertibility.BY_HAND, location, notes, nearest=outcome.nearest)
    notes = (*outcome.changes, *outcome.remarks)
    verdict = Convertibility.CHANGES if outcome.changes else Convertibility.CONVERTS
    return PlannedRule(rule, verdict, location, notes, outcome.replaced_by)


def _by_type(planned: PlannedObject) -> Iterator[tuple[str, list[PlannedRule]]]:
    for kind in dict.fromkeys(rule.rule.type for rule in planned.rules):
        yield kind, [rule for rule in planned.rules if rule.rule.type == kind]


def _tallies(parts: Iterable[tuple[str, Sequence[PlannedRule]]]) -> dict[str, Tally]:
    """Return the totals by key of parts of objects: the key, and its rules of one object."""
    counts: Counter[str] = Counter()
    verdicts: dict[str, Counter[Convertibility]] = {}
    for key, rules in parts:
        counts[key] += 1
        verdicts.setdefault(key, Counter()).update(rule.verdict for rule in rules)
    return {key: Tally(counts[key], verdicts[key]) for key in sorted(counts)}
