"""One form of a policy, compiled once: what it says of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from chartkit.addons.migrate.proof.model import Answer, Result, canonical
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.engine import (
    ENFORCE,
    NO_ATTACHMENTS,
    OFFLINE,
    Operation,
    Phase,
    PolicyAttachments,
    Request,
    RunnablePolicy,
    World,
    compile_any,
    evaluate,
    sorted_out,
)
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.kubernetes.kinds import UNKNOWN, is_binding
from chartkit.engine.request import PHASES
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status, mapping_at

_VALIDATING: Final = frozenset((RuleType.VALIDATION, RuleType.IMAGE_VERIFY))
_MUTATING: Final = frozenset((RuleType.MUTATION, RuleType.IMAGE_VERIFY))
AS_STORED: Final = (Phase.IMAGES, Phase.VALIDATE)
"""The phases of a background scan, and of what an update is of: objects are judged as they are
stored (Kyverno, pkg/controllers/report/utils)."""
_RESULTS: Final = {
    Status.PASS: Result.PASS,
    Status.WARN: Result.WARN,
    Status.FAIL: Result.FAIL,
    Status.ERROR: Result.ERROR,
    Status.SKIP: Result.NONE,
}
_STRENGTH: Final = (Result.NONE, Result.PASS, Result.ERROR, Result.WARN, Result.FAIL)
_FAILED: Final = frozenset((Status.FAIL, Status.WARN))
_MADE_BY: Final = ("generate.kyverno.io/", "app.kubernetes.io/managed-by")
"""The labels by which Kyverno knows what it generated; they name the rule or policy."""
_LOOP: Final = "validation failure: "
_ERROR: Final = "validation error: "
_WORDED: Final = ("Validation rule '", "failed to verify image", "unverified image", "image")
_INDEXED: Final = "CEL expression validation failed at index "
"""The beginnings of messages that Kyverno words itself."""
_ANCHORS: Final = ("=(", "X(", "^(")
"""The beginnings of keys that Kyverno leaves in a patch as they are."""
_ASKS_NAME: Final = re.compile(
    r"\brequest\.(dryRun|name|kind|requestKind|requestResource|resource)\b|ubResource\b"
)
_QUIET: Final = {Status.SKIP: Answer(), Status.PASS: Answer(Result.PASS)}
"""The answers of forms that neither refuse nor change anything."""


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to a request and the results that it was made of."""

    answer: Answer
    results: Sequence[RuleResult]


class Form:
    """A policy, or the policies that take its place."""

    def __init__(
        self, resources: Iterable[Resource], attachments: PolicyAttachments = NO_ATTACHMENTS
    ) -> None:
        """Raise CompileError for a policy that Kyverno refuses."""
        resources = list(resources)
        attachments = replace(attachments.with_bindings(resources), names=UNKNOWN)
        policies = [compile_any(item, attachments) for item in resources if not is_binding(item)]
        self.admitting, self.cleaning = sorted_out(policies)
        self._by_id = {policy.policy.id: policy for policy in self.admitting}
        bodies = {policy.policy.name: policy.policy.resource.body for policy in self.admitting}
        self._asks_name = [
            name for name, body in bodies.items() if _ASKS_NAME.search(json.dumps(body))
        ]
        self._mutates_deleted = frozenset(_rules_about_deletion(self.admitting))
        self._at_admission = [policy for policy in self.admitting if policy.policy.admission]
        self._in_background = [policy for policy in self.admitting if policy.policy.background]

    def ask(
        self,
        case: Case,
        world: World = OFFLINE,
        phases: Iterable[Phase] = PHASES,
        request: Request | None = None,
    ) -> Said:
        """Return what it says of a case; phases: of its admission; request: the request of the
        case, made where it is None."""
        request = case.request() if request is None else request
        if self._asks_name and not case.is_background:
            # An API server names the object and its kind, where the command line does not.
            values = _admitted(request)
            request = replace(request, variables=dict.fromkeys(self._asks_name, values))
        if request.operation is Operation.DELETE and not self._mutates_deleted:
            # The webhook of mutations, of which an error ends the evaluation, is sent none.
            phases = [phase for phase in phases if phase is not Phase.MUTATE]
        if case.is_background:
            rule_results = evaluate(self._in_background, request, world, AS_STORED)
            results = [result for result in rule_results if result.type in _VALIDATING]
        else:
            rule_results = evaluate(self._at_admission, request, world, phases)
            results = [result for result in rule_results if self._counts(result, request)]
        deletes = self._deletes(request, world) if case.is_background else ""
        return Said(self._answer(case, request, results, deletes), results)

    def _counts(self, result: RuleResult, request: Request) -> bool:
        """Report whether a result comes to anything.

        Rules that mutate or verify images are sent those deletions alone that they name; what a
        deletion generates depends on what was generated before; and nothing reports its passes.
        """
        if request.operation is not Operation.DELETE:
            return True
        if result.type in _MUTATING:
            return bool(result.kind) or result.rule in self._mutates_deleted
        return result.type is not RuleType.GENERATION and result.status is not Status.PASS

    def _answer(
        self, case: Case, request: Request, results: Sequence[RuleResult], deletes: str
    ) -> Answer:
        statuses = {one.status if one.type is RuleType.VALIDATION else None for one in results}
        if not deletes and statuses <= _QUIET.keys():
            return _QUIET[Status.PASS if Status.PASS in statuses else Status.SKIP]
        validating = [result for result in results if result.type in _VALIDATING]
        acting = [result for result in results if result.type not in _VALIDATING]
        passed = [result for result in acting if result.status is Status.PASS]
        failures = [result for result in validating if result.status in _FAILED]
        errors = [result for result in validating if result.status is Status.ERROR]
        patches = (one.patched for one in reversed(results) if one.status is Status.PASS)
        patched = _kept(next(filter(None, patches), None))
        classes = [_RESULTS[result.status] for result in validating]
        admits = not case.is_background
        return Answer(
            max(classes, key=_STRENGTH.index, default=Result.NONE),
            also_errs=bool(failures and errors),
            failed=tuple(one.unmade or one.message for one in acting if _is_trouble(one)),
            messages=tuple(own_message(result) for result in failures),
            errors=tuple(result.message for result in errors),
            denied=admits and any(self._denies(result, request) for result in (*failures, *errors)),
            warned=admits and any(self._warns(result) for result in (*failures, *errors)),
            patched=None if patched == request.resource.body else patched,
            targets=_sorted(_kept(result.patched_target) for result in passed),
            generated=_sorted(
                body for result in passed for body in (*result.generated, *result.updated)
            ),
            deletes=deletes,
        )

    def _denies(self, result: RuleResult, request: Request) -> bool:
        policy = self._by_id[result.policy_id]
        labels = request.namespace_labels
        if policy.action(result.rule, request.resource.namespace, labels) != ENFORCE:
            return False
        if result.status is not Status.ERROR or isinstance(policy, CompiledCelPolicy):
            return True
        spec = mapping_at(policy.policy.resource.body, "spec")
        configured = mapping_at(spec, "webhookConfiguration").get("failurePolicy")
        failure_policy = str(spec.get("failurePolicy") or configured or "Fail")
        return failure_policy != "Ignore"

    def _warns(self, result: RuleResult) -> bool:
        policy = self._by_id[result.policy_id]
        if isinstance(policy, CompiledCelPolicy):
            return "Warn" in policy.actions
        return bool(mapping_at(policy.policy.resource.body, "spec").get("emitWarning"))

    def _deletes(self, request: Request, world: World) -> str:
        for cleaner in self.cleaning:
            result = cleaner.evaluate(request, world)
            if result is not None and result.status is Status.PASS:
                schedule = mapping_at(cleaner.resource.body, "spec").get("schedule")
                return " ".join(filter(None, (str(schedule), cleaner.propagation)))
        return ""


def _admitted(request: Request) -> dict[str, Json]:
    """Return the fields that a request has from an API server alone, by dotted names."""
    asked = Attributes(request).admission_request()
    names = ("kind", "requestKind", "resource", "requestResource")
    values = {
        f"request.{name}.{part}": text for name in names for part, text in asked[name].items()
    }
    others = ("dryRun", "name", "requestSubResource", "subResource")
    return values | {f"request.{name}": asked[name] for name in others if name in asked}


def _is_trouble(result: RuleResult) -> bool:
    """Report whether a fault keeps a rule from mutating or generating: one that generates also
    fails, without a message, for what an update makes it leave, and passes where what it asks for
    cannot be made later."""
    failed = result.status in _FAILED and bool(result.message)
    return failed or bool(result.unmade) or result.status is Status.ERROR


def _rules_about_deletion(policies: Iterable[RunnablePolicy]) -> Iterator[str]:
    """Yield the names of the rules, and of the policies in CEL, that may change what is deleted."""
    for policy in policies:
        if Phase.MUTATE in policy.phases and not isinstance(policy.policy, Policy):
            yield policy.policy.name
        for rule in policy.policy.rules if isinstance(policy.policy, Policy) else ():
            match = rule.match
            filters = (match.direct, *match.any, *match.all)
            if any(Operation.DELETE in block.operations for block in filters):
                yield rule.name


def _sorted(bodies: Iterable[Body | None]) -> tuple[Body, ...]:
    """Return objects in order, without repetitions."""
    distinct = {canonical(body): body for body in map(_unlabelled, filter(None, bodies))}
    if len(distinct) < 2:
        return tuple(distinct.values())
    return tuple(
        sorted(
            distinct.values(),
            key=lambda body: (body.get("kind", ""), Resource(body).namespace, Resource(body).name),
        )
    )


def _kept(value: Any) -> Any:
    """Return a mutated object as an API server keeps it: without keys that are still anchors."""
    if isinstance(value, list):
        return [_kept(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _kept(item) for key, item in value.items() if not key.startswith(_ANCHORS)}


def _unlabelled(body: Body) -> Body:
    metadata = body.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(labels, dict):
        return body
    kept = {key: text for key, text in labels.items() if not key.startswith(_MADE_BY)}
    others = {key: value for key, value in metadata.items() if key != "labels"}
    return {**body, "metadata": {**others, **({"labels": kept} if kept else {})}}


def own_message(result: RuleResult) -> str:
    """Return the message of a rule or validation; empty where Kyverno words it.

    A pattern fails with `validation error: MESSAGE. rule NAME failed at path …`, a foreach puts
    `validation failure: ` before it.
    """
    text = result.message
    while text.startswith(_LOOP):
        text = text.removeprefix(_LOOP)
    if text.startswith(_ERROR):
        text = text.removeprefix(_ERROR)
        if text.startswith(f"rule {result.rule}"):
            return ""
        text = text.partition(f" rule {result.rule}")[0]
    elif text.startswith(_INDEXED if result.kind else _WORDED):
        return ""
    return " ".join(text.split()).rstrip(".")
