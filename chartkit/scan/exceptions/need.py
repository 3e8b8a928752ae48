"""The objects that need an exception, by the engine: with it and without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from chartkit.engine import PolicyAttachments, RunnablePolicy, read_exceptions
from chartkit.engine.kubernetes.kinds import CEL_GROUP, KYVERNO_GROUP, group_of
from chartkit.errors import CompileError
from chartkit.model import Resource, RuleResult, Status
from chartkit.scan.policies import compile_one
from chartkit.scan.run import ScanContext, run_scan

_VIOLATIONS = frozenset({Status.FAIL, Status.WARN})


@dataclass(frozen=True, slots=True)
class Lifted:
    """A violation that an exception lifts: the object, the policy and the rule of the result."""

    resource: Resource
    policy: str
    rule: str


Key: TypeAlias = tuple[int, str, str]


class Needs:
    """The violations of objects without exceptions, and which of them an exception lifts."""

    def __init__(
        self, policies: Sequence[RunnablePolicy], objects: Sequence[Resource], context: ScanContext
    ) -> None:
        """policies: compiled without exceptions."""
        own = [each for each in policies if _has_exceptions(each)]
        self._policies = {each.policy.id: each for each in own}
        self._objects = objects
        self._context = context
        self._violations = self._failing(own, range(len(objects)))

    def lifted(self, forms: Sequence[Resource]) -> tuple[Lifted, ...]:
        """Return the violations that are none any more with the exceptions of some objects.

        Raise CompileError for an exception that Kyverno refuses.
        """
        around = read_exceptions(forms)
        named = [each for each in self._policies.values() if _names(around, each)]
        ids = {each.policy.id for each in named}
        before = [each for each in self._violations if each[1] in ids]
        places = sorted({each[0] for each in before})
        if not places:
            return ()
        compiled = [_with(each, around) for each in named]
        after = set(self._failing([each for each in compiled if each is not None], places))
        return tuple(
            Lifted(self._objects[at], self._policies[policy].policy.key, rule)
            for at, policy, rule in before
            if (at, policy, rule) not in after
        )

    def _failing(self, policies: Sequence[RunnablePolicy], places: Iterable[int]) -> list[Key]:
        """Return the violations of the objects at some places, by place, policy and rule."""
        found: list[Key] = []
        at = list(places)
        order = iter(at)

        def take(_: Resource, results: Sequence[RuleResult]) -> None:
            place = next(order)
            failing = (each for each in results if each.status in _VIOLATIONS)
            found.extend((place, each.policy_id, each.rule) for each in failing)

        run_scan(policies, [self._objects[each] for each in at], take, self._context)
        return found


def _has_exceptions(policy: RunnablePolicy) -> bool:
    return group_of(policy.policy.resource) in (KYVERNO_GROUP, CEL_GROUP)


def _names(around: PolicyAttachments, policy: RunnablePolicy) -> bool:
    parsed = policy.policy
    if group_of(parsed.resource) == KYVERNO_GROUP:
        excepted = (one for each in around.exceptions for one in each.excepted)
        return any(one.policy == parsed.key for one in excepted)
    names = (name for each in around.cel_exceptions for _, name in each.references)
    return parsed.name in names


def _with(policy: RunnablePolicy, around: PolicyAttachments) -> RunnablePolicy | None:
    try:
        compiled = compile_one(policy.policy.resource, around)
    except CompileError:
        return None
    return compiled if isinstance(compiled, type(policy)) else None
