"""The report of `chartkit values migrate`: what became of each key, as text or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.migrate.values.context import Outcome, Step
from chartkit.addons.migrate.values.run import Migration
from chartkit.model import Body
from chartkit.report.model import SCHEMA_VERSION
from chartkit.values.moved import FIRST_OF_THREE, NEWEST, REPORTER

_ORDER: Final = (Outcome.MOVED, Outcome.CHANGED, Outcome.REMOVED, Outcome.ASKED)
_TITLES: Final = {
    Outcome.MOVED: "Moved:",
    Outcome.CHANGED: "Changed where they stand:",
    Outcome.REMOVED: "Without a counterpart, left out:",
    Outcome.ASKED: "To be decided by you:",
}
_RELEASE: Final = (
    "Chart 3 does not replace a release of chart 2: uninstall that first, or set "
    "upgrade.fromV2: true when you have read the upgrade notes of 3.0."
)


def as_text(migration: Migration) -> str:
    """Return the steps for a terminal, by outcome; keys with one reason share it."""
    lines = [f"{migration.file}: values of {migration.chart} {migration.span}, for {NEWEST} now"]
    for outcome in _ORDER:
        steps = [step for step in migration.steps if step.outcome is outcome]
        if steps:
            lines += ["", _TITLES[outcome], *_grouped(steps)]
    if migration.kept:
        lines += ["", f"Kept as comments at the end of the file: {', '.join(migration.kept)}"]
    if migration.span.last < FIRST_OF_THREE and migration.chart != REPORTER:
        lines += ["", _RELEASE]
    counts = Counter(step.outcome for step in migration.steps)
    lines += ["", ", ".join(f"{outcome}: {counts[outcome]}" for outcome in _ORDER)]
    return "\n".join(lines) + "\n"


def as_json(migration: Migration) -> str:
    """The steps for programs, in the order of the old file."""
    body: Body = {
        "schemaVersion": SCHEMA_VERSION,
        "file": migration.file,
        "chart": migration.chart,
        "from": {"first": str(migration.span.first), "last": str(migration.span.last)},
        "to": str(NEWEST),
        "keptAsComments": list(migration.kept),
        "steps": [
            {
                "outcome": str(step.outcome),
                "key": step.key,
                "line": step.line,
                "targets": list(step.targets),
                "why": step.why,
                "do": step.do,
            }
            for step in migration.steps
        ],
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


FORMATS: Final[Mapping[str, Callable[[Migration], str]]] = {"text": as_text, "json": as_json}
"""The writers by what `--report` calls them."""


def _grouped(steps: Sequence[Step]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        groups.setdefault((step.why, step.do), []).append(step)
    for (why, do), group in groups.items():
        for step in group:
            place = f"line {step.line}: " if step.line else ""
            is_moved = step.targets and step.targets != (step.key,)
            targets = f" → {', '.join(braced(step.targets))}" if is_moved else ""
            yield f"  {place}{step.key}{targets}"
        yield f"      {why}"
        if do:
            yield f"      To do: {do}"


def braced(targets: Sequence[str]) -> Iterator[str]:
    """Yield the targets, one for all that differ in nothing but the controller."""
    alike: dict[str, list[str]] = {}
    for target in targets:
        controller, _, rest = target.partition("Controller.")
        alike.setdefault(rest, []).append(controller)
    for rest, controllers in alike.items():
        if not rest:
            yield from controllers
        elif len(controllers) == 1:
            yield f"{controllers[0]}Controller.{rest}"
        else:
            yield f"{{{','.join(controllers)}}}Controller.{rest}"
