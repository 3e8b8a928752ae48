"""The verdict on a review: allowed or denied, with the object's changes and the warnings; the judge
is replaced as a whole when its policies change.

The order and the texts follow Kyverno's handlers (`pkg/webhooks/resource`): policies that only
audit are evaluated once the answer is there, and never refuse.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Protocol

from chartkit.addons.serve.admission import denials
from chartkit.addons.serve.admission.review import Answer, Review
from chartkit.addons.serve.admission.selection import (
    ALLOWED,
    DENY,
    FAIL,
    IGNORE,
    WARN,
    Evaluated,
    Findings,
    Selection,
    Served,
    Webhook,
    acts,
    decided,
    failure_policy,
    parse_path,
    refuses,
    selected,
)
from chartkit.engine import OFFLINE, Operation, Phase, Request, RunnablePolicy, World
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.kinds import GroupVersionKind, resource_name
from chartkit.engine.ports.services import labels_of
from chartkit.engine.request import Run
from chartkit.errors import Bugs, ChartkitError
from chartkit.model import (
    Body,
    FieldPath,
    Json,
    Location,
    RuleResult,
    Status,
    mapping_at,
    pointer_of,
    same,
)

if TYPE_CHECKING:
    from chartkit.addons.serve.admission.telemetry import Log

_NAMESPACE = GroupVersionKind("", "v1", "Namespace")
_MOST_PATHS = 1000
"""The paths whose policies are remembered."""
_ALL_POLICIES = frozenset(("/validate", "/mutate"))
_KYVERNOS_OWN = frozenset(
    (
        "AdmissionReport",
        "ClusterAdmissionReport",
        "BackgroundScanReport",
        "ClusterBackgroundScanReport",
        "UpdateRequest",
    )
)
"""The kinds that Kyverno never judges."""


def patch(before: Json, after: Json, path: FieldPath = ()) -> Iterator[Body]:
    """Yield the operations that turn one value into another; none where they are equal. Lists are
    compared from both ends, so that an element put in front moves none of the others."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": pointer_of(*path, key)}
        for key, value in after.items():
            if key in before:
                yield from patch(before[key], value, (*path, key))
            else:
                yield {"op": "add", "path": pointer_of(*path, key), "value": value}
    elif isinstance(before, list) and isinstance(after, list):
        shorter = min(len(before), len(after))
        first = 0
        while first < shorter and same(before[first], after[first]):
            first += 1
        last = 0
        while last < shorter - first and same(before[-1 - last], after[-1 - last]):
            last += 1
        old, new = before[first : len(before) - last], after[first : len(after) - last]
        common = min(len(old), len(new))
        for index in range(common):
            yield from patch(old[index], new[index], (*path, first + index))
        for index in reversed(range(common, len(old))):
            yield {"op": "remove", "path": pointer_of(*path, first + index)}
        for index in range(common, len(new)):
            yield {"op": "add", "path": pointer_of(*path, first + index), "value": new[index]}
    elif not same(before, after):
        yield {"op": "replace", "path": pointer_of(*path), "value": after}


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer, and the results behind it. request: None where no policy was asked."""

    answer: Answer
    request: Request | None = None
    findings: list[Findings] = field(default_factory=list)

    @property
    def evaluated(self) -> list[Evaluated]:
        """The results of all policies that were asked."""
        return [result for findings in self.findings for result in findings.evaluated]


class Judge:
    """Judges reviews by one set of policies. Every method may be called by several threads."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._all = selected(served.policies)
        self._by_path: dict[str, tuple[Webhook, Selection]] = {}

    @property
    def looks_around(self) -> bool:
        """Report whether a policy may ask for more than the object, and so wait for an answer."""
        return self._all.looks_around

    def find(self, path: str) -> tuple[Webhook, Selection] | None:
        """Return the policies that a webhook's path names; None for any other path."""
        if (held := self._by_path.get(path)) is not None:
            return held
        parsed = parse_path(path)
        if parsed is None:
            return None
        webhook, chooses = parsed
        named = list(filter(chooses, self.served.policies))
        answer = webhook, selected(named)
        if named or path in _ALL_POLICIES:
            if len(self._by_path) >= _MOST_PATHS:
                self._by_path.clear()
            self._by_path[path] = answer
        return answer

    def remembers(self, path: str) -> bool:
        """Report whether a path is one of the few that name policies."""
        return path in self._by_path

    def judge(self, review: Review, webhook: Webhook, chosen: Selection) -> Verdict:
        if webhook is Webhook.MUTATING and review.operation is Operation.DELETE:
            return Verdict(ALLOWED)
        if review.kind.kind in _KYVERNOS_OWN:
            return Verdict(ALLOWED)
        filtered = self.served.filtered
        if filtered is not None and filtered(review.subject, review.subresource):
            return Verdict(ALLOWED)
        # A review as the engine takes it.
        # The kind of the whole object where the request is about a subresource with a kind of its
        # own, such as the Scale of a Deployment
        if not review.subresource or resource_name(review.kind.kind) == review.resource:
            kind: GroupVersionKind | None = None
        else:
            from chartkit.engine.cel.shapes import own_kind

            kind = own_kind(review.api_version, review.resource)
        given = self.served.request(review.subject)
        labels = given.namespace_labels
        if not labels and review.namespace:
            labels = {NAME_LABEL: review.namespace}
        namespace = given.namespace
        if review.kind == _NAMESPACE:
            # A Namespace is in itself, as it was before the request.
            namespace = review.old.body if review.old is not None else None
            labels = labels_of(namespace or {})
        request = replace(
            given,
            operation=review.operation,
            old=review.old if review.operation is not Operation.DELETE else None,
            user=self.served.roles.user(review.user, review.namespace),
            subresource=review.subresource,
            kind=kind,
            plural=review.resource,
            review=review.fields,
            namespace=namespace,
            namespace_labels=labels,
        )
        world = self._world(chosen)
        if webhook is Webhook.MUTATING:
            return _Mutation(request, world, chosen).verdict()
        # The verdict of the policies that validate.
        findings = chosen.answers.findings(request, world, chosen.validating)
        decision = findings.decision
        if decision is None:
            decision = findings.decision = decided(findings.evaluated, request, chosen.failure)
        return Verdict(decision.answer(request.resource), request, [findings])

    def audit(self, verdict: Verdict, chosen: Selection, deadline: float = inf) -> None:
        """Add the results of the policies that only audit to the verdict on an allowed request;
        raise TimeoutError, and add none, where a deadline on the monotonic clock is over before."""
        if verdict.request is None or not (chosen.auditing and verdict.answer.allowed):
            return
        world = self._world(chosen)
        policies = _before(deadline, chosen.auditing)
        verdict.findings.append(chosen.audits.findings(verdict.request, world, policies))

    def _world(self, chosen: Selection) -> World:
        return replace(self.served.world(), uses_defaults=True) if chosen.looks_around else OFFLINE


def _before(deadline: float, policies: Iterable[RunnablePolicy]) -> Iterator[RunnablePolicy]:
    """Yield policies, and raise TimeoutError once a deadline is over."""
    for policy in policies:
        if time.monotonic() > deadline:
            raise TimeoutError("it took too long: its results are left out")
        yield policy


class _Mutation:
    """The policies that mutate, one after the other on the same object."""

    def __init__(self, request: Request, world: World, chosen: Selection) -> None:
        self._first = request
        self._world = world
        self._chosen = chosen
        self._run = Run(request, world)
        self._failure = IGNORE
        self._evaluated: list[Evaluated] = []
        self._warnings: list[str] = []

    def verdict(self) -> Verdict:
        """Return the combined patch of all policies; the first that refuses denies the request."""
        mutate = ""
        for policy in self._chosen.mutating:
            self._count_failure(policy)
            evaluated = self._of(policy, Phase.MUTATE)
            if evaluated is None:
                continue
            if not self._is_successful(evaluated):
                if refuses(evaluated, self._first, self._failure):
                    mutate = denials.not_mutated(policy.policy.key, evaluated.results)
                    break
                self._undo()
            elif mapping_at(policy.policy.resource.body, "spec").get("emitWarning") is True:
                self._warnings += [
                    denials.warning(rule)
                    for rule in evaluated.results
                    if rule.status is not Status.SKIP
                ]
        message = mutate or self._verify() or self._mutate_by_cel() or self._verify_by_cel()
        if message:
            return self._said(Answer(allowed=False, message=message, warnings=self._warnings))
        before, after = self._first.resource.body, self._run.unmarked.body
        patches = () if after is before else tuple(patch(before, after))
        return self._said(Answer(allowed=True, patch=patches, warnings=self._warnings))

    def _said(self, answer: Answer) -> Verdict:
        return Verdict(answer, self._first, [Findings(self._evaluated)])

    def _verify(self) -> str:
        self._failure = IGNORE
        verified: list[Evaluated] = []
        for policy in self._chosen.verifying:
            self._count_failure(policy)
            outcome = self._of(policy, Phase.IMAGES)
            if outcome is not None:
                verified.append(outcome)
        if any(refuses(evaluated, self._first, self._failure) for evaluated in verified):
            results = [result for evaluated in verified for result in evaluated.results]
            return denials.blocked(self._first.resource, denials.failures(results))
        return ""

    def _mutate_by_cel(self) -> str:
        errors: list[RuleResult] = []
        for policy in self._chosen.cel_mutating:
            evaluated = self._of(policy, Phase.MUTATE)
            if evaluated is None:
                continue
            results = evaluated.results
            self._warnings += [result.message for result in results if result.status is Status.WARN]
            if not self._is_successful(evaluated):
                if failure_policy(policy) == FAIL:
                    errors += [result for result in results if result.status is Status.ERROR]
                self._undo()
        return denials.not_mutated_by_cel(self._first.resource, errors) if errors else ""

    def _verify_by_cel(self) -> str:
        lines: list[str] = []
        for policy in self._chosen.cel_verifying:
            evaluated = self._of(policy, Phase.IMAGES)
            if evaluated is None:
                continue
            said = list(denials.by_cel(evaluated.results))
            lines += said if acts(evaluated, DENY) else ()
            self._warnings += said if acts(evaluated, WARN) else ()
        return "; ".join(lines)

    def _of(self, policy: RunnablePolicy, phase: Phase) -> Evaluated | None:
        """Return the results of one policy; None where no rule of it matches."""
        self._before = self._run.request, self._run.unmarked
        begun = time.perf_counter()
        results: list[RuleResult] = []
        policy.run_phase(self._run, phase, results)
        if not results:
            return None
        evaluated = Evaluated(policy, results, time.perf_counter() - begun)
        self._evaluated.append(evaluated)
        return evaluated

    def _undo(self) -> None:
        """Go on with the object as it was before the last policy."""
        request, unmarked = self._before
        self._run = Run(request, self._world)
        self._run.unmarked = unmarked

    def _count_failure(self, policy: RunnablePolicy) -> None:
        # As in Kyverno, one policy of failure policy Fail makes the errors of all count.
        if failure_policy(policy) == FAIL:
            self._failure = FAIL

    @staticmethod
    def _is_successful(evaluated: Evaluated) -> bool:
        return all(result.status not in (Status.FAIL, Status.ERROR) for result in evaluated.results)


class Source(Protocol):
    """The origin of policies. It can be sent to another process."""

    def load(self) -> Served:
        """Return the policies as they are now; raise ChartkitError where they cannot be used."""

    def changed(self) -> bool:
        """Report whether anything changed since it was last loaded, or since the last call."""

    def close(self) -> None:
        """Stop looking for changes."""


class PolicyReloader:
    """Loads policies, looks for changes in a thread, and keeps the last set that was usable."""

    def __init__(
        self,
        source: Source,
        log: Log,
        poll: float,
        reloaded: Callable[[bool], object] = lambda _is_used: None,
    ) -> None:
        """poll: seconds between looks; reloaded: called for each new set, with whether it is used.
        Raise ChartkitError where the first set cannot be loaded."""
        self._source = source
        self._log = log
        self._poll = poll
        self._reloaded = reloaded
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.served = source.load()
        self.judge = Judge(self.served)

    def start(self) -> None:
        """Look for changes from now on."""
        self._thread = threading.Thread(target=self._watch, name="policies", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look for no more changes."""
        self._stop.set()
        self._source.close()

    def reload(self) -> bool:
        """Load the policies again; return whether the new set is used, and log why it is not."""
        is_used = self._load()
        self._reloaded(is_used)
        return is_used

    def _load(self) -> bool:
        try:
            with Bugs(Location("<reload>")):
                served = self._source.load()
                judge = Judge(served)
        except (ChartkitError, OSError) as error:
            self._log.error("policies not reloaded: those from before stay", error=str(error))
            return False
        self.served, self.judge = served, judge
        self._log.info("policies reloaded", policies=len(served.policies), notes=[*served.notes])
        return True

    def _watch(self) -> None:
        while not self._stop.wait(self._poll):
            with self._log.guarded("policies", "policies are not looked at"):
                if self._source.changed():
                    self.reload()
