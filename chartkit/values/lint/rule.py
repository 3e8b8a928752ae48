"""What a rule for values is: functions from a chart's values to faults, and perhaps a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from chartkit.documents.reader import Document, read_file
from chartkit.helm.chart_values import merge
from chartkit.model import Body, Diagnostic, Explanation, FieldPath, Location, Resource, Severity


@dataclass(frozen=True, slots=True)
class ChartValues:
    """One chart as one environment gets it.

    defaults: the chart's values.yaml; overlays: the environment's values files, the last wins;
    schema: values.schema.json, None where the chart has none; apis: API versions of custom
    resources to whether the environment has them; resources: what Helm rendered, empty before.
    """

    defaults: Document
    overlays: tuple[Document, ...]
    schema: Body | None
    apis: Mapping[str, bool]
    resources: Sequence[Resource] = ()

    @property
    def values(self) -> Body:
        """The values as Helm gives them to templates: overlays laid on, null keys deleted."""
        merged: Body = self.defaults.body or {}
        for overlay in self.overlays:
            merged = merge(merged, overlay.body or {})
        return without_nulls(merged)

    def locate(self, path: Sequence[str | int]) -> Location:
        """The place that decides a value: the last file that has the whole path, or most of it."""
        best = self.defaults.locate(*path)
        for document in self.overlays:
            location = document.locate(*path)
            if location.path.count("/") >= best.path.count("/"):
                best = location
        return best


def without_nulls(values: Mapping[str, Any]) -> Body:
    """The values without the keys that are null, which Helm deletes."""
    return {
        key: without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


class Fault(NamedTuple):
    """What a rule finds at a place; severity: None for the rule's own."""

    message: str
    location: Location
    hint: str
    severity: Severity | None = None


class Stage(Enum):
    """When a rule looks: at the values before Helm renders them, at what the engine's templates
    refuse without naming the place, at the objects that Helm rendered."""

    VALUES = auto()
    REFUSED = auto()
    RENDERED = auto()


Find = Callable[[ChartValues], Iterable[Fault | Diagnostic]]
Moves = Callable[[Body, Body], dict[FieldPath, tuple[str, ...]]]
"""From values and the chart's own to the paths of what a fix moves, each with its new path. A fix
moves only what has no effect where it is."""


def no_moves(_values: Body, _defaults: Body) -> dict[FieldPath, tuple[str, ...]]:
    """The moves of a rule without a fix."""
    return {}


@cache
def _texts() -> Mapping[str, Body]:
    (document,) = read_file(Path(__file__).with_name("rules.yaml"))
    texts: Mapping[str, Body] = document.body
    return texts


class Rule:
    """A mistake that people make in values, with its words in rules.yaml. finders: its functions,
    by when they look; moves: of its fix, `no_moves` where no fix is safe."""

    def __init__(self, rule_id: str, stage: Stage, find: Find) -> None:
        self.id = rule_id
        self.finders = {stage: find}
        self.moves: Moves = no_moves

    @property
    def texts(self) -> Body:
        """What rules.yaml says of the rule."""
        return _texts()[self.id]

    @property
    def explanation(self) -> Explanation:
        """The meaning of the rule's id."""
        given = self.texts
        words = (given["what"], given["why"], given["do"], given.get("fix", ""))
        return Explanation(self.id, *words, (given["problematic"], given["correct"]))

    def rendered(self, find: Find) -> Find:
        """The decorator of a function that looks at the objects that Helm rendered."""
        self.finders[Stage.RENDERED] = find
        return find

    def fix(self, moves: Moves) -> Moves:
        """The decorator of a function that says what `values lint --fix` moves."""
        self.moves = moves
        return moves

    def check(self, stage: Stage, subject: ChartValues) -> Iterator[Diagnostic]:
        """Yield the findings at a stage."""
        find = self.finders.get(stage)
        for fault in find(subject) if find is not None else ():
            if isinstance(fault, Diagnostic):
                yield fault
                continue
            level = fault.severity or Severity(self.texts.get("level", Severity.WARNING))
            yield Diagnostic(self.id, level, fault.message, fault.location, fault.hint)


def values_rule(rule_id: str, stage: Stage = Stage.VALUES) -> Callable[[Find], Rule]:
    """The decorator that makes a function a rule, whose words rules.yaml has by its id."""
    return partial(Rule, rule_id, stage)
