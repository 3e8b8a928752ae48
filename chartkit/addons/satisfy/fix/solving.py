"""The fewest changes of an object that end its violations without a decision by a person.

Rules are asked what they want, and every change is tried: an object that violates a rule which it
kept before is no fix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from chartkit.addons.satisfy.changes import DELETE, Change, Repair, repairs
from chartkit.addons.satisfy.fix.model import (
    Edit,
    NoPlaceError,
    Reason,
    Subject,
    changed,
    edited,
    steps_in,
)
from chartkit.addons.satisfy.wants import RuleKey, key_of
from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.field_faults import type_faults
from chartkit.model import (
    Json,
    Location,
    Resource,
    RuleResult,
    Status,
    item_number,
    leaves,
    pointed_at,
    pointer_steps,
    pointer_text,
)
from chartkit.scan.gate import VIOLATIONS
from chartkit.scan.run import Completed, ScanContext, as_changed, run_scan
from chartkit.wording import abridged

FIXABLE: Final = frozenset({Status.FAIL, Status.WARN})
_ROUNDS: Final = 40
"""The most times that a rule is asked again: each answer may be about one container."""
_MOST_EDITS: Final = 400
_MOST_VALUES: Final = 5_000
"""The values of the largest object that is fixed: its rules are judged once for each change."""
_Edits = tuple[Edit, ...]
_VALUES: Final[Mapping[tuple[str, str], Json]] = {
    ("securityContext", "allowPrivilegeEscalation"): False,
    ("securityContext", "privileged"): False,
    ("securityContext", "readOnlyRootFilesystem"): True,
    ("securityContext", "runAsNonRoot"): True,
    ("securityContext", "runAsUser"): DELETE,
    ("securityContext", "capabilities"): {"drop": ["ALL"]},
    ("securityContext", "seccompProfile"): {"type": "RuntimeDefault"},
    ("capabilities", "drop"): ["ALL"],
    ("seccompProfile", "type"): "RuntimeDefault",
    ("spec", "automountServiceAccountToken"): False,
    ("spec", "hostIPC"): False,
    ("spec", "hostNetwork"): False,
    ("spec", "hostPID"): False,
}
"""By the last two steps of a field (https://kubernetes.io/docs/concepts/security/pod-security-standards/)."""
_ADDED: Final = ("capabilities", "add")
_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_OS: Final = (("spec", "os"), ("spec", "os", "name"))
"""The last steps of the fields by which a Pod is one for Windows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of an object. resource: as mutations leave it; bad: the rules that it violates or
    that are in error, and the fields that an API server refuses."""

    resource: Resource
    results: Sequence[RuleResult]
    bad: frozenset[RuleKey]

    @property
    def failing(self) -> dict[RuleKey, RuleResult]:
        """The results that a change of the object may end."""
        return {key_of(result): result for result in self.results if result.status in FIXABLE}


@dataclass(frozen=True, slots=True)
class Judging:
    """The policies and the world of a scan. completed: gives the results that count."""

    policies: Sequence[RunnablePolicy]
    context: ScanContext
    completed: Completed

    def __call__(self, resource: Resource) -> Verdict:
        return self.all([resource])[0]

    def all(self, resources: Sequence[Resource]) -> list[Verdict]:
        """Return the verdicts on objects, in their order."""
        verdicts: list[Verdict] = []

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = self.completed(resource, results)
            bad = {key_of(result) for result in results if result.status in VIOLATIONS}
            bad |= {("", fault) for fault in type_faults(resource.body)}
            verdicts.append(Verdict(as_changed(resource, results), results, frozenset(bad)))

        run_scan(self.policies, resources, sink, self.context)
        return verdicts


def solve(subject: Subject, judging: Judging, policies: Mapping[str, RunnablePolicy]) -> None:
    """Find the edits of an object, and why violations stay; policies: by their IDs."""
    _Search(subject, judging, policies).run()


@dataclass(slots=True)
class _Search:
    subject: Subject
    judging: Judging
    policies: Mapping[str, RunnablePolicy]

    def run(self) -> None:
        """Ask the rules one by one, as long as one of them wants something that helps."""
        subject = self.subject
        if next(islice(leaves(subject.given.body), _MOST_VALUES, None), None) is not None:
            text = f"the object has more than {_MOST_VALUES:,} values"
            subject.open |= dict.fromkeys(subject.violations, Reason(text, subject.given.location))
            return
        edits: _Edits = ()
        verdict = self.judging(subject.given)
        for _ in range(_ROUNDS * len(subject.violations)):
            open_rules = (rule for rule in verdict.failing if self._is_wanted(rule))
            rule = next(open_rules, None)
            if rule is None:
                break
            outcome = self._step(rule, verdict, edits)
            if isinstance(outcome, Reason):
                subject.open[rule] = outcome
            else:
                edits, verdict = outcome
        for rule in verdict.failing:
            if self._is_wanted(rule):
                subject.open[rule] = self._reason(verdict.failing[rule], "takes too many changes")
        self._settle(edits, verdict)

    def _is_wanted(self, rule: RuleKey) -> bool:
        return rule in self.subject.violations and rule not in self.subject.open

    def _step(
        self, rule: RuleKey, verdict: Verdict, edits: _Edits
    ) -> tuple[_Edits, Verdict] | Reason:
        """The edits and the verdict after the changes of one rule, or the reason for none."""
        result, policy = verdict.failing[rule], self.policies.get(rule[0])
        if policy is None:
            return self._reason(result, "the definition of its kind refuses it")
        options = repairs(verdict.resource, policy, result)
        ways = [way for way in options if not _is_dodge(way)]
        certain = [
            way
            for way in ways
            if all(change.certain for change in way) and (len(ways) == 1 or not _is_labelled(way))
        ]
        reasons: list[Reason] = []
        for changes in filter(None, (*certain, _hardened(result))):
            outcome = self._tried(changes, result, verdict, edits)
            if not isinstance(outcome, Reason):
                return outcome
            reasons.append(outcome)
        if undecided := [way for way in ways if way not in certain]:
            changes = undecided[0]
            open_changes = [change for change in changes if not change.certain] or changes
            texts = (f"{pointer_text(change.pointer)}: {change.wants}" for change in open_changes)
            first = open_changes[0].pointer
            below = (pointer for pointer in result.fields if pointer.startswith(first))
            place = self._place(next(below, first))
            return Reason("; ".join(dict.fromkeys(texts)), place, is_decision=True)
        return next(iter(reasons), self._reason(result, "no change of a field is known to end it"))

    def _tried(
        self, changes: Repair, result: RuleResult, verdict: Verdict, edits: _Edits
    ) -> tuple[_Edits, Verdict] | Reason:
        """Return the edits and the verdict after changes, or the reason why they do not help."""
        own, after = self._edited(edits), edits
        for change in sorted(changes, key=_in_order):
            try:
                steps = steps_in(verdict.resource.body, own.body, pointer_steps(change.pointer))
                others = (edit for edit in after if edit.steps != steps or edit.value is DELETE)
                after = (*others, Edit(steps, change.value))
            except NoPlaceError:
                return self._reason(result, "is about a part that a mutation or a default adds")
        if len(after) > _MOST_EDITS:
            return self._reason(result, "takes too many changes")
        try:
            tried = self.judging(self._edited(after))
        except NoPlaceError:
            return self._reason(
                result, "is about a field below one that is not a mapping or a list"
            )
        if worse := tried.bad - verdict.bad:
            broken = abridged(["/".join(filter(None, rule)) for rule in sorted(worse)])
            return self._reason(result, f"a fix breaks {broken}")
        left = tried.failing.get(key_of(result))
        if left is not None and (left.fields, left.message) == (result.fields, result.message):
            return self._reason(result, "still fails with the changes that the rule seems to want")
        return after, tried

    def _settle(self, edits: _Edits, verdict: Verdict) -> None:
        """Keep the edits without which a rule fails that passes with them."""
        failing = verdict.failing.keys()
        # What is set for a whole Pod goes for each of its containers.
        for edit in sorted(edits, key=lambda edit: len(edit.steps), reverse=True):
            fewer = tuple(other for other in edits if other is not edit)
            rules = self.subject.violations - self.subject.open.keys()
            # Without it the others may have no place, or break something.
            with suppress(NoPlaceError):
                without = self.judging(self._edited(fewer))
                needing = frozenset(without.failing.keys() - failing) & rules
                if needing or not without.bad - verdict.bad:
                    rules = needing
            if rules:
                neat = self._neat(replace(edit, rules=rules), edit, edits, verdict)
                edits = tuple(neat if other is edit else other for other in edits)
            else:
                edits = fewer
        self.subject.edits = edits

    def _neat(self, kept: Edit, edit: Edit, edits: _Edits, verdict: Verdict) -> Edit:
        """An edit that takes away a field that would be empty or 0, if that does as well."""
        if edit.value is not DELETE and (edit.value is False or edit.value not in (0, "", [], {})):
            return kept
        body, steps = self._edited(edits).body, edit.steps
        while edit.value is DELETE and pointed_at(body, steps[:-1]) in ({}, []):
            steps = steps[:-1]
            body = changed(body, steps, DELETE)
        neat = replace(kept, steps=steps, value=DELETE)
        with suppress(NoPlaceError):
            after = self._edited(tuple(neat if other is edit else other for other in edits))
            if not self.judging(after).bad - verdict.bad:
                return neat
        return kept

    def _edited(self, edits: _Edits) -> Resource:
        return edited(self.subject.given, edits)

    def _reason(self, result: RuleResult, text: str) -> Reason:
        return Reason(text, self._place(next(iter(result.fields), "")))

    def _place(self, pointer: str) -> Location:
        """Return the place of the chart's value that decides a field, else of the field."""
        location = self.subject.given.location
        value = location.value_of(pointer)
        return value if value is not None and value.line else location.within(pointer)


def _in_order(change: Change) -> tuple[int, list[int]]:
    """Return the rank of a change: items of lists are taken away last, the last ones first."""
    if change.value is not DELETE:
        return 0, []
    return 1, [-(item_number(step) or 0) for step in pointer_steps(change.pointer)]


def _is_dodge(repair: Repair) -> bool:
    """Report whether changes make an object another one, which a rule may pass over."""
    paths = [pointer_steps(change.pointer) for change in repair]
    return any(path in _IDENTITY or path[-2:] in _OS or path[-3:] in _OS for path in paths)


def _is_labelled(repair: Repair) -> bool:
    """Report whether changes are about labels or annotations. Where a rule takes something else as
    well, these may be a way around it, on which a person decides."""
    paths = [pointer_steps(change.pointer) for change in repair]
    return any("labels" in path or "annotations" in path for path in paths)


def _hardened(result: RuleResult) -> Repair:
    """Return the changes of the fields that a failure names to the values of the standards; none
    where it names others only. The engine tells whether they help."""
    place = Location("")
    return tuple(
        Change(pointer, value, True, "", result.policy, result.rule, place)
        for pointer in result.fields
        if (value := _value(pointer_steps(pointer))) is not None
    )


def _value(path: Sequence[str]) -> Json:
    if path[-1:] == ("hostPort",) or path[-3:-1] == _ADDED:
        return DELETE
    return next((value for steps, value in _VALUES.items() if path[-2:] == steps), None)
