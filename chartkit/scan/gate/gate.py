"""The gate of one run: it takes the results object by object, and says at the end whether they fail
the run, what has become of the baseline, and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.model import Diagnostic, Resource, RuleResult, Severity, Status
from chartkit.report import PolicyFacts
from chartkit.report.model import NONE_ACCEPTED, Acceptance, Accepted, AcceptedAs
from chartkit.scan.gate import VIOLATIONS, GateOptions, Threshold, has_suppressions
from chartkit.scan.gate.selection import PolicyTraits, Selection, selected
from chartkit.wording import counted

if TYPE_CHECKING:
    from chartkit.scan.gate.baseline import BaselineMatcher
    from chartkit.scan.gate.suppressions import Suppression
    from chartkit.scan.gate.violation import Violation

_FAILING: Final = frozenset({Status.FAIL, Status.ERROR})
DEFINITION: Final = "CustomResourceDefinition"
"""The kind of results about the schema of a custom resource, which no policy gave."""
_RANKS: Final = {str(level): rank for rank, level in enumerate(Threshold)}
_MOST_UNMATCHED: Final = 24
_MOST_ALIKE: Final = 3
"""The most objects that are kept while no policy matches any: of all kinds, and of one."""
NOTHING: Final = "CK604"
THRESHOLD: Final = "threshold"


class Acceptor:
    """The accepted violations of one run; notes: findings about suppressions."""

    def __init__(
        self,
        matcher: BaselineMatcher | None,
        today: date,
        policies: Collection[str],
        allows_suppressions: bool = True,
    ) -> None:
        """policies: the names of all policies that run and count, for suppressions that nothing
        needs to be named; none where not all of their results count."""
        self.matcher = matcher
        self.notes: list[Diagnostic] = []
        self._today = today
        self._policies = policies
        self._allows_suppressions = allows_suppressions

    def accepted(self, resource: Resource, results: Sequence[RuleResult]) -> Accepted:
        """Return the accepted ones among the results of an object."""
        entries: dict[int, Acceptance] = {}
        if has_suppressions(resource):
            from chartkit.scan.gate.suppressions import read_suppressions, unneeded

            allows = self._allows_suppressions
            suppressions, warnings = read_suppressions(resource, self._today, allows)
            self.notes += warnings
            used: list[Suppression] = []
            for position, result in enumerate(results):
                by = next((item for item in suppressions if item.covers(result)), None)
                if by is not None and result.status in VIOLATIONS:
                    used.append(by)
                    entries[position] = _acceptance(AcceptedAs.SUPPRESSED, by.reason, by.until)
            self.notes += unneeded(suppressions, used, self._policies)
        if self.matcher is None:
            return entries or NONE_ACCEPTED
        from chartkit.scan.gate.violation import violations_of

        for position, result in enumerate(results):
            if result.status in VIOLATIONS and position not in entries:
                entry = self.matcher.match(list(violations_of(resource, result)))
                if entry is not None:
                    entries[position] = _acceptance(AcceptedAs.KNOWN, entry.reason, entry.until)
        return entries or NONE_ACCEPTED


def _acceptance(state: AcceptedAs, reason: str, until: date | None) -> Acceptance:
    return Acceptance(state, reason, until.isoformat() if until else "")


@dataclass(slots=True)
class Tally:
    """The numbers of a run. statuses: of the results that count, accepted ones left out; failing:
    the violations that fail the run; below: those that do not, for they are less severe than
    `--fail-on`; is_empty: whether there was no result of a policy at all; unmatched: some objects,
    while that is so."""

    statuses: Counter[Status]
    failing: int = 0
    below: int = 0
    is_empty: bool = True
    unmatched: list[Resource] = field(default_factory=list)

    def see(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Note whether a policy says anything of an object."""
        if self.is_empty and all(result.kind == DEFINITION for result in results):
            alike = sum(other.kind == resource.kind for other in self.unmatched)
            if len(self.unmatched) < _MOST_UNMATCHED and alike < _MOST_ALIKE:
                self.unmatched.append(resource)
        elif self.is_empty:
            self.is_empty = False
            self.unmatched.clear()

    def add(self, other: Tally) -> None:
        """Add the numbers of further results."""
        self.statuses.update(other.statuses)
        self.failing += other.failing
        self.below += other.below
        self.is_empty = self.is_empty and other.is_empty
        self.unmatched = [*self.unmatched, *other.unmatched][:_MOST_UNMATCHED]


class Gate:
    """The gate of one run; objects: the names of judged ones, where there is a baseline."""

    def __init__(
        self,
        options: GateOptions,
        traits: PolicyTraits,
        facts: Mapping[str, PolicyFacts],
        selection: Selection,
        matcher: BaselineMatcher | None,
        today: date,
    ) -> None:
        """Raise InputError for selectors of policies that match none."""
        selection.require_policies(traits)
        self.tally = Tally(Counter())
        names = () if selection else traits.known("policy")
        self.acceptor = Acceptor(matcher, today, names, options.suppressions)
        self.objects: set[str] = set()
        self._options = options
        self._traits = traits
        self._facts = facts
        self._selection = selection

    @property
    def is_divisible(self) -> bool:
        """Report whether several processes can judge, each a part of the results: those of a
        baseline and selectors count over all of them."""
        return self.acceptor.matcher is None and not self._selection

    def part(self) -> tuple[Tally, list[Diagnostic]]:
        """Return the numbers and the findings about suppressions, and begin anew."""
        part = self.tally, self.acceptor.notes
        self.tally, self.acceptor.notes = Tally(Counter()), []
        return part

    def looks_at(self, resource: Resource) -> bool:
        """Report whether the results of an object count at all."""
        select = self._selection
        return not select or select.has_object(
            resource.api_version, resource.kind, resource.namespace
        )

    def judge(
        self, resource: Resource, results: Sequence[RuleResult]
    ) -> tuple[Sequence[RuleResult], Accepted]:
        """Return the selected results of an object, and those that are accepted."""
        if self._selection:
            results = selected(self._selection, self._traits, resource, results)
        if self.acceptor.matcher is not None:
            from chartkit.scan.gate.violation import object_name

            self.objects.add(object_name(resource))
        accepted = self.acceptor.accepted(resource, results)
        tally = self.tally
        tally.see(resource, results)
        counted = results
        if accepted:
            counted = [rule_result for at, rule_result in enumerate(results) if at not in accepted]
        statuses = [rule_result.status for rule_result in counted]
        tally.statuses.update(statuses)
        if not _FAILING.isdisjoint(statuses):
            for result in counted:
                if result.status in _FAILING:
                    least = self._options.fail_on
                    # A violation of unknown severity fails the run: it may be a critical one.
                    rank = _RANKS.get(self._facts[result.policy_id].severity.lower(), 0)
                    if least is None or (least != Threshold.NONE and rank <= _RANKS[least]):
                        self.tally.failing += 1
                    else:
                        self.tally.below += 1
        return results, accepted

    def require_objects(self) -> None:
        """Raise InputError for selectors of objects that match none."""
        self._selection.require_objects()

    def looked_at(self, violation: Violation, is_partial: bool = False) -> bool:
        """Report whether the run would have found a violation; is_partial: whether it looks only at
        some of the objects."""
        from chartkit.scan.gate.violation import kind_and_namespace

        if is_partial and violation.object not in self.objects:
            return False
        select = self._selection
        return not select or (
            select.has_rule(self._traits, violation.policy, violation.rule)
            and select.has_object(*kind_and_namespace(violation.object))
        )


class Outcome(NamedTuple):
    """The outcome of a run: findings about it, and its exit code."""

    diagnostics: tuple[Diagnostic, ...]
    exit_code: int


NearestMiss = Callable[[Sequence[Resource]], str]
"""Names the rule that came nearest to matching objects, and why it does not; empty for none."""


def conclude(
    gate: Gate, options: GateOptions, is_broken: bool, is_partial: bool, nearest: NearestMiss
) -> Outcome:
    """Return the outcome of a run, and write the baseline where it is to be updated.

    is_broken: whether a policy does not compile, or something could not be read; is_partial:
    whether only some of the objects were scanned. Raise InputError for a selector of objects that
    matches none, and where the baseline cannot be written.
    """
    tally, matcher = gate.tally, gate.acceptor.matcher
    looked_at = partial(gate.looked_at, is_partial=is_partial)
    rows: list[Diagnostic] = []
    if matcher is not None:
        from chartkit.scan.gate.baseline import about_baseline, update

        if options.update_baseline:
            update(matcher, looked_at)
        rows += about_baseline(matcher, looked_at, options.fail_on_stale)
    is_nothing = tally.is_empty and not is_partial
    # What is broken may be why nothing matched.
    if is_nothing and (options.fail_on_nothing or not is_broken):
        severity = Severity.ERROR if options.fail_on_nothing else Severity.NOTE
        message = "no policy matched any object"
        miss = nearest(tally.unmatched)
        hint = f"the nearest is {miss}" if miss else "compare the policies' match with the objects"
        rows.append(Diagnostic(NOTHING, severity, message, None, hint))
    if tally.below:
        least = options.fail_on or Threshold.NONE
        many = counted(tally.below, "violation", "violations")
        what = f"{many} below {least}" if least != Threshold.NONE else many
        message = f"{what} {'does' if tally.below == 1 else 'do'} not fail the run"
        rows.append(Diagnostic(THRESHOLD, Severity.NOTE, message, None, f"--fail-on {least}"))
    fails = is_broken or tally.failing or any(row.severity is Severity.ERROR for row in rows)
    warns = tally.statuses[Status.WARN] or tally.below
    code = 1 if fails else (options.warn_exit_code or 0) if warns else 0
    return Outcome(tuple(rows), code)
