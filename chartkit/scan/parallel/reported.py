"""The results of a run as its gate and its reports take them; where several processes judge, each
writes what it found, and one puts the parts together in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from chartkit.model import Diagnostic, Resource, RuleResult, RuleType, Status
from chartkit.report.outputs import Outputs
from chartkit.scan.gate.gate import Gate, Tally

_IMAGE_POLICY: Final = "ImageValidatingPolicy"


class Shown(NamedTuple):
    """The places that reports show. excerpts: whether with the lines around them; most: of how many
    fields of a failure, all if None."""

    excerpts: bool = False
    most: int | None = None


class ReportedPart(NamedTuple):
    """The findings of one process: their numbers, findings about suppressions, and the text of each
    report. judged: objects; unasked: errors of image verification."""

    judged: int
    unasked: int
    tally: Tally
    notes: Sequence[Diagnostic]
    texts: Sequence[Any]


class Reports:
    """The reports of a run, or of the parts that one process judges. judged: the number of objects;
    unasked: of errors of image verification."""

    def __init__(self, gate: Gate, outputs: Outputs) -> None:
        self.gate = gate
        self.outputs = outputs
        self.judged = 0
        self.unasked = 0

    @property
    def are_divisible(self) -> bool:
        """Report whether several processes can write them."""
        return self.gate.is_divisible and self.outputs.are_divisible

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> Sequence[Diagnostic]:
        """Add the results of one object to every report, as far as they are selected; return
        findings about its suppressions."""
        self.judged += 1
        notes = self.gate.acceptor.notes
        noted = len(notes)
        results, accepted = self.gate.judge(resource, results)
        self.outputs.add(resource, results, accepted)
        self.unasked += sum(
            (result.type is RuleType.IMAGE_VERIFY or result.kind.endswith(_IMAGE_POLICY))
            for result in results
            if result.status is Status.ERROR
        )
        return notes[noted:]

    def part(self) -> ReportedPart:
        """Return the added results for another process, and begin anew."""
        tally, notes = self.gate.part()
        part = ReportedPart(self.judged, self.unasked, tally, notes, self.outputs.part())
        self.judged = self.unasked = 0
        return part

    def append(self, part: ReportedPart) -> None:
        """Add what another process found, after what was added before."""
        self.judged += part.judged
        self.unasked += part.unasked
        self.gate.tally.add(part.tally)
        self.outputs.append(part.texts)
