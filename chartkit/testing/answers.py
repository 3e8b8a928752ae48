"""What policies say of each object of a test, as far as Kyverno's test command has an answer.

One answer a policy, phase and form (a CEL policy has one more for each kind of template of pod
controllers). Which empty answers there are is decided as in Kyverno's `PolicyProcessor` and
`applyDeletingPolicies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chartkit.engine import Phase, PolicyResponse, Request, respond
from chartkit.engine.cel_policies.policy import CelKind, MatchConstraints
from chartkit.model import Resource, RuleResult
from chartkit.testing.inputs import TestInputs

Key = tuple[str, ...]
"""apiVersion, kind, namespace and name of an object; of a payload the parts of its path."""


def key_of(resource: Resource) -> Key:
    """What an object is found by."""
    return resource.api_version, resource.kind, resource.namespace, resource.name


@dataclass(frozen=True, slots=True)
class Answer:
    """What one policy says of one object.

    policy: its name; has_rules: whether its results name rules that expectations choose from;
    resource, patched: the object before and after mutation.
    """

    policy: str
    has_rules: bool
    resource: Resource
    patched: Resource
    results: tuple[RuleResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """An existing object that a rule changed."""

    result: RuleResult
    resource: Resource


Given = Mapping[Key, Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Answers:
    """triggers: what was said of each object, by the operation that expectations ask for;
    targets: existing objects that were changed."""

    triggers: Mapping[str, Given]
    targets: Mapping[Key, Sequence[Target]]

    def every(self) -> Iterator[Answer]:
        """Every answer."""
        for given in self.triggers.values():
            for answers in given.values():
                yield from answers


def ask(inputs: TestInputs) -> Answers:
    """Asks a test's policies about its objects, once for every operation."""
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
    """What a policy made of an existing object; None where it left it alone."""
    for result in answer.results:
        if result.patched_target is not None:
            changed = Resource(result.patched_target)
            if key_of(changed) == key_of(resource):
                return Target(result, changed)
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
            request = Request(payload.resource, is_json=True)
            said = _answers(inputs, request, operation) if payload.resource.body else []
            given[tuple(payload.name.split("/"))] = said
    return given


def _answers(inputs: TestInputs, request: Request, operation: str) -> list[Answer]:
    policies = inputs.policies
    responses = [
        one
        for one in respond(policies.compiled, request, inputs.world)
        # Kyverno's program adds no digests for an ImageValidatingPolicy.
        if one.form is None or one.phase is not Phase.IMAGES
    ]
    mutated = [one.patched for one in responses if _is_mutating(one)]
    answers = [
        Answer(
            one.policy.policy.name,
            one.form is None,
            one.resource,
            # Kyverno shows each MutatingPolicy with what all of them made together.
            mutated[-1] if _is_mutating(one) else one.patched,
            one.results,
        )
        for one in responses
        if one.results or not _is_dropped(one, request.is_json)
    ]
    # Nothing is admitted where something is deleted on a schedule.
    for cleaner in policies.cleaners if not operation else ():
        result = cleaner.evaluate(request, inputs.world)
        if result is not None:
            resource = request.resource
            answers.append(Answer(cleaner.name, False, resource, resource, (result,)))
    return answers


def _is_mutating(response: PolicyResponse) -> bool:
    return response.form is not None and response.form.kind is CelKind.MUTATING


def _is_dropped(response: PolicyResponse, is_json: bool) -> bool:
    """Whether Kyverno has no answer at all where a policy says nothing; else it has an empty one,
    which shows the object as excluded."""
    form = response.form
    if form is None:
        return response.phase is Phase.GENERATE
    if form.kind in (CelKind.VALIDATING, CelKind.MUTATING):
        return is_json or form.json or _has_one_rule(form.constraints)
    return is_json or form.kind is not CelKind.VALIDATING_ADMISSION


def _has_one_rule(constraints: MatchConstraints | None) -> bool:
    """Whether constraints are one rule and nothing that narrows it."""
    if constraints is None or constraints.excluded or len(constraints.rules) != 1:
        return False
    selectors = (constraints.namespace_selector, constraints.object_selector)
    if any(one is not None and (one.labels or one.expressions) for one in selectors):
        return False
    return not constraints.rules[0].names
