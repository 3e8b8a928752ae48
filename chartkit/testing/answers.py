"""The answers of policies for each object of a test, as Kyverno's test command has them.

There is one for each policy, phase and form (a CEL policy has one more for each kind of Pod
controller). Empty answers follow Kyverno's `PolicyProcessor` and `applyDeletingPolicies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chartkit.engine import Phase, PolicyResponse, Request, RunnablePolicy, respond
from chartkit.engine.cel_policies.policy import MatchConstraints
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Json, Resource, RuleResult
from chartkit.testing.inputs import TestInputs

Key = tuple[str, ...]
"""apiVersion, kind, namespace and name of an object; of a payload the parts of its path."""


def key_of(resource: Resource) -> Key:
    """The identity of an object."""
    return resource.api_version, resource.kind, resource.namespace, resource.name


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one policy for one object.

    policy: its name; has_rules: whether its results name rules that expectations can select;
    resource, patched: the object before and after mutation; action: the action of a rule, by its
    name.
    """

    policy: str
    has_rules: bool
    resource: Resource
    patched: Resource
    action: Callable[[str], str]
    results: tuple[RuleResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """An existing object that a rule changed; answer: the answer of the rule's policy."""

    result: RuleResult
    resource: Resource
    answer: Answer


Given = Mapping[Key, Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Answers:
    """triggers: answers for each object, by the operation that expectations name; targets: existing
    objects that were changed."""

    triggers: Mapping[str, Given]
    targets: Mapping[Key, Sequence[Target]]

    def every(self) -> Iterator[Answer]:
        """Yield every answer."""
        for given in self.triggers.values():
            for answers in given.values():
                yield from answers


def ask(inputs: TestInputs) -> Answers:
    """Evaluate a test's policies on its objects, once for every operation."""
    operations = {"", *(wanted.operation for wanted in inputs.test.expectations)}
    triggers = {operation: _given(inputs, operation) for operation in sorted(operations)}
    answers = Answers(triggers, {})
    targets: dict[Key, list[Target]] = {}
    for resource in inputs.targets:
        found = [_changed(resource, answer) for answer in answers.every()]
        if any(found):
            targets[key_of(resource)] = [target for target in found if target is not None]
    return replace(answers, targets=targets)


def _changed(resource: Resource, answer: Answer) -> Target | None:
    """Return an existing object as a policy changed it; None if unchanged."""
    for result in answer.results:
        if result.patched_target is not None:
            changed = Resource(result.patched_target)
            if key_of(changed) == key_of(resource):
                return Target(result, changed, answer)
    return None


def _given(inputs: TestInputs, operation: str) -> dict[Key, list[Answer]]:
    given = {
        key_of(resource): _answers(
            inputs, inputs.admissions.request(resource, operation), operation
        )
        for resource in inputs.resources
    }
    if not operation:
        for payload in inputs.payloads:
            said: list[Answer] = []
            if payload.resource is not None:
                request = Request(payload.resource, is_json=True)
                said = _answers(inputs, request, operation)
            given[tuple(payload.name.split("/"))] = said
    return given


def _answers(inputs: TestInputs, request: Request, operation: str) -> list[Answer]:
    policies = inputs.policies
    responses = [
        response
        for response in respond(policies.compiled, request, inputs.world)
        # Kyverno's program adds no digests for an ImageValidatingPolicy.
        if response.form is None or response.phase is not Phase.IMAGES
    ]
    mutated = [response.patched for response in responses if _is_mutating(response)]
    if mutated and _operation(inputs, operation) == "DELETE":
        mutated = [Resource({})]
    answers = [
        Answer(
            response.policy.policy.name,
            response.form is None,
            response.resource,
            # Kyverno shows each MutatingPolicy with what all of them made together.
            mutated[-1] if _is_mutating(response) else response.patched,
            _action_of(response.policy, request),
            _made(response.results),
        )
        for response in responses
        if response.results or not _is_dropped(response, request.is_json)
    ]
    # Nothing is admitted where something is deleted on a schedule.
    for cleaner in policies.cleaners if not operation else ():
        result = cleaner.evaluate(request, inputs.world)
        if result is not None:
            resource = request.resource
            answers.append(Answer(cleaner.name, False, resource, resource, _no_action, (result,)))
    return answers


def _action_of(policy: RunnablePolicy, request: Request) -> Callable[[str], str]:
    namespace, labels = request.resource.namespace, request.namespace_labels
    return lambda rule: policy.action(rule, namespace, labels)


def _no_action(_rule: str) -> str:
    return ""


def _operation(inputs: TestInputs, operation: str) -> Json:
    """Return the operation that CEL policies see: the run's, else the one in the values."""
    return operation or inputs.admissions.values.globals.get("request.operation")


def _made(results: tuple[RuleResult, ...]) -> tuple[RuleResult, ...]:
    """Return the results of a policy without what its rules generate, if one of them cannot be
    made: Kyverno's program then has no object of any."""
    if not any(result.unmade for result in results):
        return results
    return tuple(replace(result, generated=()) for result in results)


def _is_mutating(response: PolicyResponse) -> bool:
    return response.form is not None and response.form.kind is CelKind.MUTATING


def _is_dropped(response: PolicyResponse, is_json: bool) -> bool:
    """Report whether Kyverno has no answer for a policy without results; otherwise it has an empty
    one, which shows the object as excluded."""
    form = response.form
    if form is None:
        return response.phase is Phase.GENERATE
    if form.kind in (CelKind.VALIDATING, CelKind.MUTATING):
        # A mutation that failed has left nothing of the object.
        if not (is_json or response.resource.body):
            return True
        return is_json or form.json or _has_one_rule(form.constraints)
    return is_json or form.kind is not CelKind.VALIDATING_ADMISSION


def _has_one_rule(constraints: MatchConstraints | None) -> bool:
    """Report whether constraints are a single rule without other restrictions."""
    if constraints is None or constraints.excluded or len(constraints.rules) != 1:
        return False
    selectors = (constraints.namespace_selector, constraints.object_selector)
    if any(one is not None and (one.labels or one.expressions) for one in selectors):
        return False
    return not constraints.rules[0].names
