"""The baseline of an environment: the violations of today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from chartkit.addons.operate.adopt.model import Estate, Outcome, Piece, Row
from chartkit.engine import read_exceptions
from chartkit.errors import CompileError
from chartkit.model import Resource, RuleResult, Track, mappings_at, untracked
from chartkit.render.checks.engine import compiled_set
from chartkit.scan.gate.baseline import Baseline, BaselineMatcher, KnownViolation
from chartkit.scan.gate.baseline_text import baseline_text
from chartkit.scan.gate.violation import VIOLATIONS, Violation, object_name, violations_of
from chartkit.scan.requests import Requests
from chartkit.scan.run import run_scan
from chartkit.scan.user_inputs import UserInputs
from chartkit.wording import counted


@dataclass(slots=True)
class _Known:
    """The violations of a cluster, and the objects that controllers made."""

    matcher: BaselineMatcher = field(
        default_factory=lambda: BaselineMatcher(Baseline(Path()), date.max, updates=True)
    )
    made: set[str] = field(default_factory=set)

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add the violations of an object."""
        if is_made(resource):
            self.made.add(object_name(resource))
        for each in results:
            if each.status in VIOLATIONS:
                self.matcher.match(list(violations_of(resource, each)))


def is_made(resource: Resource) -> bool:
    """Report whether a controller made an object."""
    owners = mappings_at(resource.body, "metadata", "ownerReferences")
    return any(each.get("controller") for each in owners)


def usable_exceptions(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the exceptions that Kyverno takes."""
    for each in pieces:
        try:
            read_exceptions([each.resource])
        except CompileError:
            continue
        yield each


def baseline_of(
    estate: Estate,
    installed: Sequence[Resource],
    rendered: Iterable[KnownViolation],
    track: Track = untracked,
) -> tuple[str, list[Row]]:
    """Return the text of the baseline of an environment, empty without violations, with a row about
    it; installed: the policies, bindings and exceptions of its charts; rendered: the violations
    that a render finds; track: shows how many kinds of a cluster are read."""
    counts: dict[Violation, int] = {each.violation: each.count for each in rendered}
    known = _Known(made={object_name(each) for each in filter(is_made, estate.objects)})
    if estate.survey is not None:
        _scan_cluster(estate, installed, known, track)
        for each in known.matcher.updated(lambda _: True):
            counts[each.violation] = max(each.count, counts.get(each.violation, 0))
    if not counts:
        return "", []
    objects = {each.object for each in counts}
    total = counted(sum(counts.values()), "violation")
    of = f" of {counted(len(objects), 'object')}" if len(counts) > 1 else ""
    message = f"{total}{of} added to the baseline"
    hint = ""
    if made := objects & known.made:
        message += f"; {len(made)} of the objects are made by controllers"
        hint = "their names change: fix what makes them first"
    row = Row(Outcome.TAKEN, "baseline", message, None, hint, estate.name)
    entries = [KnownViolation(each, counts[each]) for each in sorted(counts)]
    return baseline_text(Baseline(Path()), entries), [row]


def _scan_cluster(
    estate: Estate, installed: Sequence[Resource], known: _Known, track: Track
) -> None:
    survey = estate.survey
    assert survey is not None
    compiled = compiled_set(installed)
    inputs = UserInputs()
    requests = Requests(compiled, (), survey.namespaces, survey.namespace_objects, inputs)
    context = requests.context(survey.world(inputs))
    context = replace(context, plural_of=survey.reader.discovery.plural)
    run_scan(compiled.policies, survey.objects(compiled.policies, track=track), known.add, context)
