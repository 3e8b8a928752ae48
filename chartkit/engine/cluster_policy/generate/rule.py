"""A generate rule compiled: its one pattern, or a loop over elements for each of many; and rules
that Kyverno takes for itself in the background, and then leaves out.

What restores a generated object, or generates for objects that were there before, is no request
and has no operation: a match that names operations does not hold for it. Kyverno takes such a rule
and drops what the background asks of it (`pkg/engine/utils/match.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chartkit.engine.budget import ITERATION, BudgetError
from chartkit.engine.cluster_policy.foreach import compile_list, compile_scope
from chartkit.engine.cluster_policy.generate.write import (
    CloneListError,
    Store,
    Writer,
    compile_pattern,
)
from chartkit.engine.cluster_policy.handler import Handler
from chartkit.engine.cluster_policy.policy import Match, Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.request.request import Request
from chartkit.errors import ChartkitError, NoSource
from chartkit.model import Body, Diagnostic, Explanation, RuleResult, RuleType, Severity, Status

_ID = "CK520"
_EXPLANATIONS = (
    Explanation(
        _ID,
        what="A generate rule with synchronize or generateExisting whose match names operations.",
        why=(
            "Background processing has no operation: Kyverno accepts the rule and does not apply "
            "it there."
        ),
        do=(
            "Remove operations. To tell requests apart, use a precondition on request.operation "
            "that also holds for an empty one."
        ),
    ),
)
_HINT = (
    "leave out operations, and ask for them in a precondition that holds without one, too: "
    "key \"{{ request.operation || 'BACKGROUND' }}\", operator AnyIn, value [CREATE, BACKGROUND]"
)


def unmatched_in_background(policy: Policy) -> Iterator[Diagnostic]:
    """A warning for each rule whose `synchronize` or `generateExisting` does nothing, as its match
    names operations."""
    spec = policy.resource.body.get("spec") or {}
    for rule in policy.rules:
        switches = list(_background_switches(rule, spec.get("generateExisting") is True))
        if switches and _needs_operation(rule.match):
            what = " and ".join(switches)
            message = (
                f"{policy.key}: rule {rule.name}: {what} without effect: match names operations, "
                "and what Kyverno does in the background has none"
            )
            yield Diagnostic(_ID, Severity.WARNING, message, rule.location, _HINT)


def _background_switches(rule: Rule, existing: bool) -> Iterator[str]:
    if rule.generate is None:
        return
    if rule.generate.get("synchronize") is True:
        yield "synchronize"
    own = rule.generate.get("generateExisting")
    if own is True or (own is None and existing):
        yield "generateExisting"


def _needs_operation(match: Match) -> bool:
    """Return whether there are objects that a match takes only with an operation."""
    if match.direct.operations or any(one.operations for one in match.all):
        return True
    free = {kind for one in match.any if not one.operations for kind in one.kinds}
    return any(one.operations and not free.issuperset(one.kinds) for one in match.any)


Step = Callable[["Context", Store], None]
"""Writes what one part of a rule asks for; raises ChartkitError."""


def compile_generate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a generate rule.

    The rule passes whatever becomes of its objects, as Kyverno's does: that they cannot be made (a
    variable or a source is missing) fails an update request later, and `unmade` says why.
    """
    body = rule.generate or {}
    writer = Writer(policy, rule, body.get("synchronize") is True)
    if body.get("foreach") is None:
        steps = [_compile_pattern(body, writer)]
    else:
        steps = [_compile_loop(loop, writer) for loop in body["foreach"]]

    def handle(context: Context, request: Request) -> RuleResult | None:
        cluster = context.world.api.cluster(policy.key, rule.name)
        store = Store(cluster, request.resource.body, context.budget)
        passed = RuleResult(policy.key, rule.name, RuleType.GENERATION, Status.PASS, "")
        try:
            for step in steps:
                step(context, store)
        except (BudgetError, CloneListError, NoSource):
            raise
        except ChartkitError as error:
            # One object that cannot be made fails the whole update request.
            return replace(passed, unmade=error.message)
        return replace(passed, generated=store.made, updated=store.updated)

    return handle


def _compile_pattern(body: Body, writer: Writer) -> Step:
    pattern = compile_pattern(body)

    def step(context: Context, store: Store) -> None:
        writer.write(pattern(context), store)

    return step


def _compile_loop(body: Body, writer: Writer) -> Step:
    elements = compile_list(body.get("list") or "")
    entries, conditions = compile_scope(body, writer.rule, writer.policy)
    pattern = compile_pattern(body)

    def step(context: Context, store: Store) -> None:
        found = elements(context)
        for index, element in enumerate(found):
            if element is None:
                continue
            context.budget.spend(ITERATION, f"a foreach over {len(found)} elements")
            inner = context.child()
            inner.set_element(element, index, 0)
            entries.attach(inner)
            if conditions is None or conditions.evaluate(inner).holds:
                writer.write(pattern(inner), store)

    return step
