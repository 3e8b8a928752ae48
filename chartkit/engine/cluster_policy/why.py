"""Why the rules of a ClusterPolicy have their results for an object.

The rules run as they always do, with a recorder in the context, which gets the answers of
exceptions, preconditions and checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.autogen import (
    ANNOTATION,
    added_keys,
    controllers,
    form_names,
    is_extendable,
    unextended,
)
from chartkit.engine.cluster_policy.exceptions import BoundException, PolicyException
from chartkit.engine.cluster_policy.match import Facts, Role
from chartkit.engine.cluster_policy.match_reasons import MatchReasons
from chartkit.engine.cluster_policy.policy import Rule, RuleKind
from chartkit.engine.cluster_policy.run import CompiledRule, RuleView, skipped_in_background
from chartkit.engine.context.context import Context
from chartkit.engine.context.recorder import Recorder, Sources, recorder_of
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.request import Operation, Phase, Request, Run
from chartkit.engine.why import Asked, Decision, RuleDecision, elsewhere
from chartkit.model import Location, RuleResult, Status, pointer_of, single_line
from chartkit.wording import shortened

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.compile import CompiledPolicy

_BEFORE: Final = frozenset({Asked.PRECONDITIONS, Asked.EXCEPTION})
_MOST_CHARACTERS: Final = 300


def why_phase(
    policy: CompiledPolicy, run: Run, phase: Phase, results: list[RuleResult]
) -> tuple[RuleDecision, ...]:
    """Run a phase, and return the decision of every rule in it."""
    request, written = run.request, policy.policy
    if request.is_json or not request.resource.body:
        policy.run_phase(run, phase, results)
        text = "the policy does not judge plain JSON"
        if not request.is_json:
            text = "a rule that mutates failed before, and left nothing of the object"
        decision = Decision(Asked.RULE, False, text, written.resource.location)
        return (RuleDecision(written.id, "", None, decision),)
    watch = _Watch(policy, run.kind, request.subresource)
    watched = [
        _WatchedRule(rule, compiled, watch)
        for rule, compiled in policy.forms(run.kind, request.subresource, phase)
    ]
    view, before = run.view(RuleView), len(results)
    bound = [rule for rule in watched if rule.compiled is not None]
    unsent: Decision | None = None
    if policy.webhook is not None and bound:
        from chartkit.engine.cluster_policy.validate_cel import why_unsent

        webhook = policy.webhook
        unsent = why_unsent(written, request, lambda: view.is_sent(written, webhook, results))
    if unsent is None and bound:
        view.evaluate(written, policy.scored, bound, phase, results)
    said = {result.rule: result for result in reversed(results[before:])}
    facts = Facts(request)
    decisions: list[RuleDecision] = []
    matches = {rule.rule.name: rule.match(facts) for rule in watched}
    forms = {name for name, match in matches.items() if not match.is_of_another_kind}
    for rule in watched:
        name, match = rule.rule.name, matches[rule.rule.name]
        has_form = not forms.isdisjoint(form_names(name))
        if match.is_of_another_kind and (has_form or added_keys(name)):
            continue
        result = said.get(name)
        if unsent is not None:
            decision = unsent
        elif rule.decision is not None:
            decision = rule.decision
        elif not match.holds:
            decision = match
            if match.is_of_another_kind and is_extendable(watch.kind.kind):
                decision = _unextended(watch, rule.rule, match) or match
        else:
            decision = watch.left_out(rule.rule, facts)
        status = None if result is None else result.status
        decisions.append(
            RuleDecision(written.id, name, status, decision, result.message if result else "")
        )
    return tuple(decisions)


@dataclass(frozen=True, slots=True)
class _Watch:
    """A policy whose evaluation of an object of a kind is recorded."""

    policy: CompiledPolicy
    kind: GroupVersionKind
    subresource: str

    def sources(self, rule: Rule) -> Sources:
        """Return where a rule's parts are written; for an autogen form, the parts of the original
        rule."""
        policy = self.policy.policy
        names = ((written.name, *form_names(written.name)) for written in policy.rules)
        index = next(at for at, of_rule in enumerate(names) if rule.name in of_rule)
        above = ("spec", "rules", index)
        return Sources(rule.body, policy.resource.location, above, added_keys(rule.name))

    def reasons(self, sources: Sources, facts: Facts) -> MatchReasons:
        return MatchReasons(sources, facts, self.kind, self.subresource)

    def at(self, *path: str | int) -> Location:
        """Return the location of a field of the policy."""
        return self.policy.policy.resource.location.within(pointer_of(*path))

    def left_out(self, rule: Rule, facts: Facts) -> Decision:
        """Return why a rule that matches did not run."""
        if skipped_in_background(rule, facts):
            text = "requests of the background controller are passed over (skipBackgroundRequests)"
        elif self.policy.policy.apply_one:
            text = "an earlier rule applied, and the policy applies one (applyRules: One)"
        elif rule.kind is RuleKind.VERIFY_IMAGES:
            text = "nothing is required of images as they are"
        else:
            text = "an earlier rule of the policy failed to mutate"
        return Decision(Asked.RULE, False, text, self.at("spec"))


def _unextended(watch: _Watch, rule: Rule, match: Decision) -> Decision | None:
    """Return why a rule for Pods has no form for the kind of an object; None for another rule."""
    if not any(name.rpartition("/")[2] == "Pod" for name in rule.match.kinds):
        return None
    policy = watch.policy.policy
    reason = next(unextended(policy.rules), None)
    if reason is not None:
        index, path, cause = reason
        location = watch.at("spec", "rules", index, *path)
    elif watch.kind.kind not in controllers(policy):
        cause = f"{ANNOTATION} is {policy.annotations.get(ANNOTATION)}"
        location = watch.at("metadata", "annotations", ANNOTATION)
    else:
        cause, location = "what it does has no form for them", watch.at("spec", "rules")
    text = f"{match.text}, and the rule has no form for pod controllers: {cause}"
    return Decision(Asked.AUTOGEN, False, text, location, match.pointer, match.value, (match,))


class _WatchedRule:
    """A rule whose run is recorded. compiled: None if the rule does not run for the object's kind;
    decision: the decision behind its result, None before the run."""

    __slots__ = ("_facts", "_sources", "_watch", "compiled", "decision", "rule")

    def __init__(self, rule: Rule, compiled: CompiledRule | None, watch: _Watch) -> None:
        self.rule = rule
        self.compiled = compiled
        self.decision: Decision | None = None
        self._facts: Facts | None = None
        self._watch = watch
        self._sources = watch.sources(rule)

    def match(self, otherwise: Facts) -> Decision:
        """The decision of match and exclude; otherwise: the facts for a rule that was not asked."""
        facts, policy = self._facts or otherwise, self._watch.policy.policy
        decision = elsewhere(policy.resource.location, policy.namespace, facts.namespace)
        reasons = self._watch.reasons(self._sources, facts)
        return decision or reasons.rule(self.rule.match, self.rule.exclude)

    def matches(self, facts: Facts) -> bool:
        self._facts = facts
        return self.compiled is not None and self.compiled.matches(facts)

    def run(self, base: Context, request: Request, facts: Facts) -> RuleResult | None:
        """Return the rule's result, and keep what decided."""
        assert self.compiled is not None
        recorder = recorder_of(self._sources, request.resource)
        base.recorder = recorder
        try:
            policy = self._watch.policy
            bound = {binding.exception.key: binding for binding in self.compiled.exceptions}
            watched: list[BoundException] = []
            for exception in policy.exceptions:
                if not exception.names(policy.policy.key, self.rule.name):
                    continue
                location = exception.resource.location
                sources = Sources(exception.resource.body["spec"], location, ("spec",), ())
                reasons = self._watch.reasons(sources, facts)
                match = reasons.block(exception.match, Role.EXCEPTION, ("match",))
                if exception.key in bound:
                    binding = bound[exception.key]
                    watched.append(_WatchedException(exception, binding.predicate, sources, match))
                else:
                    recorder.add(_excepted(exception, False, match, ()))
            result = replace(self.compiled, exceptions=tuple(watched)).run(base, request, facts)
        finally:
            base.recorder = None
        self.decision = self._decided(result, recorder, facts)
        return result

    def _decided(self, result: RuleResult | None, recorder: Recorder, facts: Facts) -> Decision:
        parts = tuple(recorder.parts)
        before = [part for part in parts if part.asked in _BEFORE]
        if result is not None and result.status is Status.SKIP:
            for part in before:
                # Preconditions or an exception keep the rule from running.
                if bool(part.holds) is (part.asked is Asked.EXCEPTION):
                    return part
        if result is not None and result.status is Status.ERROR:
            for check in (inner for part in parts for inner in part.walk()):
                entry = check.text.removeprefix("context entry ").partition(":")[0]
                if check.asked is Asked.CONTEXT and entry in result.message:
                    return replace(check, parts=parts)
        asked, path = _action(self.rule)
        location = self._sources.at(*path)
        own = tuple(part for part in parts if part.asked not in _BEFORE)
        if result is None:
            if facts.operation == Operation.DELETE:
                text = "the rule says nothing of an object that is deleted"
            elif any(part.asked is Asked.ELEMENT for part in own):
                text = "all elements are passed over"
            else:
                text = own[0].text if own else "the rule says nothing of the object"
            if not own and self.rule.kind is RuleKind.GENERATE:
                match = self.match(facts)
                return match if not match.holds else Decision(asked, False, text, location)
            return Decision(asked, False, text, location, parts=parts)
        # The decision of a rule's action; own: the checks that belong to it.
        status = result.status
        holds = {Status.PASS: True, Status.FAIL: False, Status.WARN: False}.get(status)
        # Conditions hold where a denial refuses.
        wanted = status is not Status.PASS if asked is Asked.DENY and holds is not None else None
        # A rule that mutates nothing is kept from it by what does not hold.
        is_idle = asked is Asked.RULE and status is Status.SKIP
        deciding = _deciding(own, wanted, False if is_idle else holds)
        message = shortened(single_line(result.message), _MOST_CHARACTERS)
        is_beside = deciding is not None and status is Status.ERROR and deciding.holds is not None
        if deciding is None or is_beside or (asked is Asked.RULE and status is Status.PASS):
            # No check says it, such as that a rule takes too long.
            pointer = next(iter(result.fields), None)
            return Decision(asked, holds, message, location, pointer, parts=parts)
        text = deciding.text
        if wanted is not None and deciding.holds is not wanted:
            text = "a list of conditions is empty, and never holds"
            return Decision(asked, wanted, text, location, parts=parts)
        if asked is Asked.DENY:
            holds = None if holds is None else not holds
        elif asked is Asked.ANY_PATTERN and not holds and len(own) > 1:
            text = f"none of {len(own)} patterns holds: {text}"
        return Decision(
            asked,
            holds,
            text,
            deciding.location or location,
            deciding.pointer,
            deciding.value,
            parts,
        )


def _deciding(
    parts: Sequence[Decision], wanted: bool | None, holds: bool | None
) -> Decision | None:
    """The innermost check that decided; wanted: a denying condition's answer."""
    looked_for = wanted if wanted is not None else holds
    for part in parts:
        if part.asked in _BEFORE:
            continue
        if part.asked is Asked.ELEMENT and part.holds is holds and not part.holds:
            of_patterns = any(check.asked in (Asked.PATTERN, Asked.ELEMENT) for check in part.parts)
            return _deciding(part.parts, None if of_patterns else True, part.holds) or part
        if part.asked is not Asked.ELEMENT and part.holds is looked_for:
            return part
    return next(iter(parts), None)


def _action(rule: Rule) -> tuple[Asked, tuple[str, ...]]:
    """Return the action of a rule, and its field."""
    validate = rule.validate
    if rule.kind is RuleKind.VALIDATE:
        if validate.deny is not None:
            return Asked.DENY, ("validate", "deny")
        if validate.pattern is not None:
            return Asked.PATTERN, ("validate", "pattern")
        if validate.any_pattern is not None:
            return Asked.ANY_PATTERN, ("validate", "anyPattern")
        return Asked.FOREACH, ("validate", "foreach")
    return _ACTIONS[rule.kind]


_ACTIONS: Final[dict[RuleKind, tuple[Asked, tuple[str, ...]]]] = {
    RuleKind.POD_SECURITY: (Asked.POD_SECURITY, ("validate", "podSecurity")),
    RuleKind.MANIFESTS: (Asked.RULE, ("validate", "manifests")),
    RuleKind.CEL: (Asked.EXPRESSION, ("validate", "cel")),
    RuleKind.MUTATE: (Asked.RULE, ("mutate",)),
    RuleKind.MUTATE_EXISTING: (Asked.RULE, ("mutate",)),
    RuleKind.GENERATE: (Asked.RULE, ("generate",)),
    RuleKind.VERIFY_IMAGES: (Asked.IMAGE, ("verifyImages",)),
}


@dataclass(frozen=True, slots=True)
class _WatchedException(BoundException):
    """An exception whose decision is recorded. match: the decision of its filters."""

    sources: Sources
    match: Decision

    def applies(self, facts: Facts, context: Context) -> bool:
        recorder = context.recorder
        assert recorder is not None
        own, recorder.sources = recorder.sources, self.sources
        try:
            with recorder.inside() as parts:
                holds = BoundException.applies(self, facts, context)
        finally:
            recorder.sources = own
        recorder.add(_excepted(self.exception, holds, self.match, tuple(parts)))
        return holds


def _excepted(
    exception: PolicyException, holds: bool, match: Decision, conditions: tuple[Decision, ...]
) -> Decision:
    """Return the decision of an exception that names a rule."""
    cause = match
    if match.holds and not holds:
        cause = next((condition for condition in conditions if not condition.holds), match)
    verb = "applies" if holds else "does not apply"
    return Decision(
        Asked.EXCEPTION,
        holds,
        f"exception {exception.key} {verb}: {cause.text}",
        cause.location or exception.resource.location,
        cause.pointer,
        cause.value,
        (match, *conditions),
    )
