"""The values of the engine's chart, as the chart takes them now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.values.context import Outcome as Change
from chartkit.addons.migrate.values.context import Step
from chartkit.addons.migrate.values.run import Migration, migrate
from chartkit.addons.operate.adopt.model import EngineValues, Estate, Outcome, Row
from chartkit.addons.operate.adopt.versions import Versions
from chartkit.errors import InputError
from chartkit.model import Location

FOLDER: Final = "engine"
_SUBJECT: Final = "engine values"


@dataclass(frozen=True, slots=True)
class EngineFiles:
    """The values files of an environment's engine by their path in the project, the last one wins;
    rows: what became of each key that did not just move."""

    texts: dict[str, str]
    rows: tuple[Row, ...]


def migrate_values(estate: Estate, versions: Versions) -> EngineFiles:
    """Return the engine's values of an environment for today's chart.

    Where they cannot be rearranged they are left, with the reason.
    """
    texts: dict[str, str] = {}
    rows: list[Row] = []
    for number, values in enumerate(estate.values, 1):
        suffix = f"-{number}" if len(estate.values) > 1 else ""
        name = f"{FOLDER}/{estate.file_name}{suffix}.yaml"
        try:
            migration = migrate(values.document, given=values.chart or versions.chart)
        except InputError as error:
            place, hint = error.location or _place(values), error.hint or ""
            rows.append(Row(Outcome.LEFT, _SUBJECT, error.message, place, hint, estate.name))
            continue
        texts[name] = migration.text
        if not versions.has_engine:
            message = f"{name} is not used while Kyverno is installed by another chart"
            hint = "set engine: true and name it under engineValues, once Kyverno is upgraded"
            place = Location(values.document.source.file, 1)
            rows.append(Row(Outcome.NOTE, _SUBJECT, message, place, hint, estate.name))
        rows += _rows(migration, values, name, estate.name)
    return EngineFiles(texts, tuple(rows))


def _place(values: EngineValues) -> Location:
    return Location(values.document.source.file, 1)


def _rows(migration: Migration, values: EngineValues, name: str, environment: str) -> Iterator[Row]:
    moved = sum(each.outcome is Change.MOVED for each in migration.steps)
    message = f"→ {name}; of chart {migration.span}" + (
        f", {moved} {'key' if moved == 1 else 'keys'} moved" if moved else ""
    )
    yield Row(Outcome.TAKEN, _SUBJECT, message, _place(values), "", environment)
    for step in migration.steps:
        if step.outcome is not Change.MOVED:
            yield _step(step, values, environment)


def _step(step: Step, values: EngineValues, environment: str) -> Row:
    outcome = {Change.ASKED: Outcome.LEFT, Change.REMOVED: Outcome.LEFT}.get(
        step.outcome, Outcome.CHANGED
    )
    place = Location(values.document.source.file, step.line or 1)
    message = {Change.ASKED: "is for you to decide", Change.REMOVED: "has no counterpart"}.get(
        step.outcome, "changes where it stands"
    )
    return Row(
        outcome, f"{_SUBJECT} {step.key}", f"{message}: {step.why}", place, step.do, environment
    )
