"""The plan of a migration: a verdict on each rule of each legacy object, and what blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TextIO

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.own_tests import test_files
from chartkit.addons.migrate.files.run import Progress, given_objects, migrator_of, without_patches
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.options import ConversionOptions
from chartkit.addons.migrate.plan.inventory import read_inventory, without_copies
from chartkit.addons.migrate.plan.origin import Origin
from chartkit.documents.unread import is_unread
from chartkit.errors import InputError
from chartkit.model import Diagnostic
from chartkit.scan.inputs import Note
from chartkit.scan.inputs.folders import unread_below


class Convertibility(StrEnum):
    """The answer to whether a rule converts to the kinds of policies.kyverno.io."""

    CONVERTS = "converts"
    CHANGES = "changes"
    BY_HAND = "by-hand"
    NOT_PROVED = "not-proved"


@dataclass(frozen=True, slots=True)
class Plan:
    """objects: each of them blocks the upgrade, also those that convert; faults: what cannot be
    read, and what Kyverno refuses; unread, notes: as of the inventory; is_proved: whether the
    conversions were proved."""

    objects: Sequence[MigratedObject]
    faults: Sequence[Diagnostic] = ()
    unread: Sequence[str] = ()
    is_proved: bool = True
    notes: Sequence[Diagnostic] = ()

    @property
    def exit_code(self) -> int:
        """2 for input that cannot be used, 1 where an object blocks or may, else 0."""
        if self.faults:
            return 2
        return 1 if self.objects or self.unread else 0

    def verdict(self, outcome: RuleOutcome) -> Convertibility:
        """Return the verdict on a rule by what becomes of it."""
        if not outcome.converted:
            return Convertibility.BY_HAND
        if not self.is_proved:
            return Convertibility.NOT_PROVED
        return Convertibility.CHANGES if outcome.changes else Convertibility.CONVERTS

    def by_kind(self) -> Mapping[str, Tally]:
        """Return the totals of each kind, sorted."""
        return self._tallies((item.legacy.resource.kind, item.outcomes) for item in self.objects)

    def by_origin(self) -> Sequence[tuple[Origin, int]]:
        """Return how many objects each origin generated, most first."""
        counts = Counter(planned_object.legacy.origin for planned_object in self.objects)
        return sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))

    def by_type(self) -> Mapping[str, Tally]:
        """Return the totals of each type of rule, sorted; objects: how many have such a rule."""
        return self._tallies(chain.from_iterable(map(_by_type, self.objects)))

    def _tallies(self, parts: Iterable[tuple[str, Sequence[RuleOutcome]]]) -> dict[str, Tally]:
        """Return the totals by key of parts of objects: the key, and its rules of one object."""
        counts: Counter[str] = Counter()
        verdicts: dict[str, Counter[Convertibility]] = {}
        for key, outcomes in parts:
            counts[key] += 1
            verdicts.setdefault(key, Counter()).update(map(self.verdict, outcomes))
        return {key: Tally(counts[key], verdicts[key]) for key in sorted(counts)}


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of objects, and of their rules by verdict."""

    objects: int
    verdicts: Counter[Convertibility]


def make_plan(options: ConversionOptions, stdin: TextIO, note: Note, progress: Progress) -> Plan:
    """Return the plan of the inputs: what `migrate policies` does with the same options."""
    inventory, _ = without_patches(read_inventory(options.inventory, stdin, note))
    inventory = without_copies(inventory)
    tests = test_files(options.inventory.paths)
    given = given_objects(options, inventory, stdin, note)
    migrated = migrator_of(options, inventory, given, tests).all(inventory.objects, progress)
    unread, notes = list(inventory.unread), list(inventory.notes)
    folders = [Path(path) for path in options.inventory.paths if Path(path).is_dir()]
    for row in chain.from_iterable(map(unread_below, folders)):
        hint = (row.hint or "").replace("| chartkit scan -", "| chartkit migrate plan -")
        if is_unread(row):
            unread.append(str(InputError(row.message, row.location, hint)))
        else:
            notes.append(replace(row, hint=hint))
            note(notes[-1])
    return Plan(migrated, inventory.findings, unread, options.prove, notes)


def _by_type(planned: MigratedObject) -> Iterator[tuple[str, list[RuleOutcome]]]:
    outcomes = planned.outcomes
    for kind in dict.fromkeys(outcome.type for outcome in outcomes):
        yield kind, [outcome for outcome in outcomes if outcome.type == kind]
