"""The fewest changes of an object that end its violations, as far as nobody has to decide.

Rules are asked what they want, and every change is tried: an object that violates a rule which it
kept before is no fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chartkit.addons.satisfy.changes import DELETE, Change, Repair, repairs
from chartkit.addons.satisfy.fix.judging import Judging, Verdict, key_of
from chartkit.addons.satisfy.fix.known_fields import hardened, is_dodge, is_labelled
from chartkit.addons.satisfy.fix.model import (
    Edit,
    NoPlaceError,
    Reason,
    RuleKey,
    Steps,
    Subject,
    edited,
    steps_in,
)
from chartkit.engine import RunnablePolicy
from chartkit.model import (
    Json,
    Location,
    Resource,
    RuleResult,
    item_number,
    leaves,
    list_of,
    path_step,
    path_text,
    pointed_at,
    pointer_steps,
)
from chartkit.wording import abridged

_ROUNDS: Final = 40
"""How often a rule is asked again, at most: each answer may be about one container."""
_MOST_EDITS: Final = 400
_MOST_VALUES: Final = 5_000
"""The values of the largest object that is fixed: its rules are judged once for each change."""
_Values = dict[Steps, Json]


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
        values: _Values = {}
        verdict = self.judging(subject.given)
        for _ in range(_ROUNDS * len(subject.violations)):
            open_rules = (rule for rule in verdict.failing if self._is_wanted(rule))
            rule = next(open_rules, None)
            if rule is None:
                break
            outcome = self._step(rule, verdict, values)
            if isinstance(outcome, Reason):
                subject.open[rule] = outcome
            else:
                values, verdict = outcome
        for rule in verdict.failing:
            if self._is_wanted(rule):
                subject.open[rule] = self._reason(verdict.failing[rule], "takes too many changes")
        self._settle(values, verdict)

    def _is_wanted(self, rule: RuleKey) -> bool:
        return rule in self.subject.violations and rule not in self.subject.open

    def _step(
        self, rule: RuleKey, verdict: Verdict, values: _Values
    ) -> tuple[_Values, Verdict] | Reason:
        """Return the values and the verdict after the changes that one rule wants, or why there
        are none."""
        result, policy = verdict.failing[rule], self.policies.get(rule[0])
        if policy is None:
            return self._reason(result, "the definition of its kind refuses it")
        found = repairs(verdict.resource, policy, result)
        ways = [way for way in found if not is_dodge(way)]
        certain = [
            way
            for way in ways
            if all(change.certain for change in way) and (len(ways) == 1 or not is_labelled(way))
        ]
        reasons: list[Reason] = []
        for changes in filter(None, (*certain, hardened(result))):
            outcome = self._tried(changes, result, verdict, values)
            if not isinstance(outcome, Reason):
                return outcome
            reasons.append(outcome)
        if undecided := [way for way in ways if way not in certain]:
            return self._decision(undecided[0], result)
        return next(
            iter(reasons), self._reason(result, "no change of fields is known that ends it")
        )

    def _tried(
        self, changes: Repair, result: RuleResult, verdict: Verdict, values: _Values
    ) -> tuple[_Values, Verdict] | Reason:
        """Return the values and the verdict after changes, or why these do not help."""
        own, after = self._edited(values), dict(values)
        for change in sorted(changes, key=_in_order):
            try:
                steps = steps_in(verdict.resource.body, own.body, pointer_steps(change.pointer))
                after[steps] = change.value
            except NoPlaceError:
                return self._reason(result, "is about a part that a mutation or a default adds")
        if len(after) > _MOST_EDITS:
            return self._reason(result, "takes too many changes")
        try:
            tried = self.judging(self._edited(after))
        except NoPlaceError:
            return self._reason(result, "is about a field that is no mapping or list")
        if worse := tried.bad - verdict.bad:
            broken = abridged(["/".join(filter(None, rule)) for rule in sorted(worse)])
            return self._reason(result, f"a fix breaks {broken}")
        left = tried.failing.get(key_of(result))
        if left is not None and (left.fields, left.message) == (result.fields, result.message):
            return self._reason(result, "stays with what the rule seems to want")
        return after, tried

    def _settle(self, values: _Values, verdict: Verdict) -> None:
        """Keep the values without which a rule fails that passes with them."""
        failing = verdict.failing.keys()
        needed: dict[Steps, frozenset[RuleKey]] = {}
        # What is set for a whole Pod goes for each of its containers.
        for steps in sorted(values, key=len, reverse=True):
            fewer = {key: value for key, value in values.items() if key != steps}
            rules = self.subject.violations - self.subject.open.keys()
            # Without it the others may have no place, or break something.
            with suppress(NoPlaceError):
                without = self.judging(self._edited(fewer))
                needing = frozenset(without.failing.keys() - failing) & rules
                if needing or not without.bad - verdict.bad:
                    rules = needing
            if rules:
                neat, values = self._neat(steps, values, verdict)
                needed[neat] = rules
            else:
                values = fewer
        self.subject.edits = tuple(Edit(each, values[each], needed[each]) for each in values)

    def _neat(self, steps: Steps, values: _Values, verdict: Verdict) -> tuple[Steps, _Values]:
        """Return the values with a field taken away that would be empty, or 0, if that does as
        well, and the path of the field."""
        value = values[steps]
        whole = steps
        if value is DELETE and len(list_of(pointed_at(self.subject.given.body, steps[:-1]))) == 1:
            whole = steps[:-1]
        elif value is DELETE or value is False or value not in (0, "", [], {}):
            return steps, values
        neat = {whole if key == steps else key: value for key, value in values.items()}
        neat[whole] = DELETE
        with suppress(NoPlaceError):
            if not self.judging(self._edited(neat)).bad - verdict.bad:
                return whole, neat
        return steps, values

    def _edited(self, values: _Values) -> Resource:
        return edited(self.subject.given, (Edit(*each) for each in values.items()))

    def _decision(self, changes: Repair, result: RuleResult) -> Reason:
        open_changes = [change for change in changes if not change.certain] or changes
        texts = (f"{_field(change.pointer)}: {change.wants}" for change in open_changes)
        first = open_changes[0].pointer
        below = (pointer for pointer in result.fields if pointer.startswith(first))
        place = self._place(next(below, first))
        return Reason("; ".join(dict.fromkeys(texts)), place, is_decision=True)

    def _reason(self, result: RuleResult, text: str) -> Reason:
        return Reason(text, self._place(next(iter(result.fields), "")))

    def _place(self, pointer: str) -> Location:
        return self.subject.given.location.within(pointer)


def _in_order(change: Change) -> tuple[int, list[int]]:
    """Return the rank of a change: items of lists are taken away last, the last ones first."""
    if change.value is not DELETE:
        return 0, []
    return 1, [-(item_number(step) or 0) for step in pointer_steps(change.pointer)]


def _field(pointer: str) -> str:
    return path_text(map(path_step, pointer_steps(pointer)))
