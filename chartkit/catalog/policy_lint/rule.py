"""Rules for policies: functions from a policy (`Subject`) to faults, with their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.documents.reader import read_file
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames
from chartkit.kyverno.versions import Release
from chartkit.model import Body, Diagnostic, Explanation, FieldPath, Resource, Severity, pointer_of

if TYPE_CHECKING:
    from chartkit.engine import RunnablePolicy
    from chartkit.engine.cel_policies.policy import CelPolicy

PAGE: Final = "docs/reference/policy-lint.md"
"""The page with an anchor for each id."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One policy of a run.

    resource: as written, with its location; compiled: None for a cleanup policy, and where it does
    not compile, which is a finding of its own; run: all policies of the run, with this one; names:
    scopes and plurals of custom kinds by their definitions in the run; kyverno: the release that
    the policy is for, None for any; searches: the rules that witnesses were searched for, of which
    there is a limit for a policy.
    """

    resource: Resource
    compiled: RunnablePolicy | None = None
    run: Sequence[Resource] = field(default=(), repr=False)
    names: CustomNames = UNKNOWN
    kyverno: Release | None = None
    searches: list[str] = field(default_factory=list, repr=False)

    @property
    def cluster_policy(self) -> Policy | None:
        """The policy as read, if it is a ClusterPolicy or Policy that compiles."""
        policy = self.compiled.policy if self.compiled is not None else None
        return policy if isinstance(policy, Policy) else None

    @property
    def cel_policy(self) -> CelPolicy | None:
        """The policy as read, if its rules are CEL and it compiles."""
        policy = self.compiled.policy if self.compiled is not None else None
        return None if policy is None or isinstance(policy, Policy) else policy

    @property
    def rules(self) -> Iterator[tuple[FieldPath, Rule]]:
        """The rules of a ClusterPolicy with their paths; none of any other policy."""
        policy = self.cluster_policy
        for index, rule in enumerate(policy.rules if policy is not None else ()):
            yield ("spec", "rules", index), rule


@cache
def texts() -> Mapping[str, Body]:
    """Return the texts of each rule in rules.yaml, by id."""
    (document,) = read_file(Path(__file__).with_name("rules.yaml"))
    body: Mapping[str, Body] = document.body
    return body


class Fault(NamedTuple):
    """A fault in a policy: at a field, or, with an offset, at a character in its text;
    severity: None for the rule's own."""

    path: FieldPath
    message: str
    hint: str | None = None
    offset: int | None = None
    severity: Severity | None = None


Faults = Iterable[Fault | Diagnostic]
"""The findings of a rule; a diagnostic has an id of its own, such as a fault of Kyverno."""


class PolicyRule:
    """A mistake that Kyverno accepts in policies.

    find: its function, which finds nothing for a rule about several policies together: the add-on
    `satisfy` decides these; explanation: of its id, by rules.yaml; problematic: a policy that the
    rule reports, or one rule of a ClusterPolicy; correct: one without any finding; example_kyverno:
    the release that both are for, empty for any; level: the severity of findings where the project
    sets no other; is_off: whether it reports only where the project sets a level.
    """

    def __init__(
        self, rule_id: str, find: Callable[[Subject], Faults] = lambda _subject: ()
    ) -> None:
        self.id, self.find = rule_id, find
        given = texts()[rule_id]
        self.problematic: str = given["problematic"]
        self.correct: str = given["correct"]
        self.example_kyverno: str = given.get("exampleKyverno", "")
        self.level = Severity(given.get("level", Severity.WARNING))
        self.is_off = "isOff" in given
        words = (given["what"], given["why"], given["do"])
        example = (self.problematic, self.correct)
        self.explanation = Explanation(rule_id, *words, example=example, page=PAGE)

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        """Yield the findings in one policy."""
        resource = subject.resource
        for fault in self.find(subject):
            if isinstance(fault, Diagnostic):
                yield fault
                continue
            path, message, hint, offset, severity = fault
            pointer, location = pointer_of(*path), resource.location
            where = (
                location.within(pointer) if offset is None else location.character(pointer, offset)
            )
            message = f"{resource.name}: {message}"
            yield Diagnostic(self.id, severity or self.level, message, where, hint)


def policy_rule(rule_id: str) -> Callable[[Callable[[Subject], Faults]], PolicyRule]:
    """The decorator that makes a function a rule, whose words rules.yaml has by its id."""
    return partial(PolicyRule, rule_id)
