"""The baseline of an environment: what violates its policies today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from chartkit.engine import PolicyAttachments, read_exceptions
from chartkit.errors import CompileError
from chartkit.model import Resource, RuleResult, mappings_at
from chartkit.rollout.adopt.model import Estate, Outcome, Piece, Row
from chartkit.scan.gate.baseline import Baseline, BaselineMatcher
from chartkit.scan.gate.baseline_text import baseline_text
from chartkit.scan.gate.violation import VIOLATIONS, violations_of
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.scan.requests import Requests
from chartkit.scan.run import namespace_labels, namespaces_among, run_scan
from chartkit.scan.user_inputs import UserInputs


class _Known:
    """The violations of a run, and how many of their objects a controller made."""

    def __init__(self) -> None:
        self.matcher = BaselineMatcher(Baseline(Path()), date.max, updates=True)
        self.objects: set[tuple[str, str, str]] = set()
        self.made: set[tuple[str, str, str]] = set()

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        found = [each for each in results if each.status in VIOLATIONS]
        if not found:
            return
        key = (resource.kind, resource.namespace, resource.name)
        self.objects.add(key)
        if any(each.get("controller") for each in _owners(resource)):
            self.made.add(key)
        for each in found:
            self.matcher.match(list(violations_of(resource, each)))


def _owners(resource: Resource) -> list[dict[str, object]]:
    return mappings_at(resource.body, "metadata", "ownerReferences")


def usable_exceptions(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the exceptions that Kyverno takes."""
    for each in pieces:
        try:
            read_exceptions([each.resource])
        except CompileError:
            continue
        yield each


def baseline_of(estate: Estate, policies: Sequence[Resource]) -> tuple[str, list[Row]]:
    """Return the text of the baseline of an environment, empty if nothing violates its policies,
    with a row about it; policies: those that the project has, and their bindings."""
    around = read_exceptions(each.resource for each in usable_exceptions(estate.exceptions))
    known = _Known()
    if estate.survey is not None:
        _scan_cluster(estate, policies, around, known)
    if estate.objects:
        _scan_files(estate.objects, compile_all(policies, around), known)
    entries = known.matcher.updated(lambda _: True)
    if not entries:
        return "", []
    count = sum(each.count for each in entries)
    number = len(known.objects)
    objects = f"{number} object{'' if number == 1 else 's'}"
    violations = "violation" if count == 1 else f"violations of {objects}"
    message = f"{count} {violations} known from now on"
    hint = ""
    if known.made:
        message += f"; {len(known.made)} of the objects are made by controllers"
        hint = "their names change: fix what makes them first"
    row = Row(Outcome.TAKEN, "baseline", message, None, hint, estate.name)
    return baseline_text(Baseline(Path()), entries), [row]


def _scan_files(objects: Sequence[Resource], policies: PolicySet, known: _Known) -> None:
    labels, namespaces = namespace_labels(objects), namespaces_among(objects)
    requests = Requests(policies, objects, labels, namespaces, UserInputs())
    run_scan(policies.policies, objects, known.add, requests.context(requests.world()))


def _scan_cluster(
    estate: Estate, policies: Sequence[Resource], around: PolicyAttachments, known: _Known
) -> None:
    survey = estate.survey
    assert survey is not None
    compiled = compile_all(policies, around)
    inputs = UserInputs()
    requests = Requests(compiled, (), survey.namespaces, survey.namespace_objects, inputs)
    context = requests.context(survey.world(inputs))
    context = replace(context, plural_of=survey.reader.discovery.plural)
    run_scan(compiled.policies, survey.objects(compiled.policies), known.add, context)
