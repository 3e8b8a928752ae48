"""A generate rule compiled: its one pattern, or a loop over elements for each of many."""

from __future__ import annotations

from collections.abc import Callable
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
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.request.request import Request
from chartkit.errors import ChartkitError, NoSource
from chartkit.model import Body, RuleResult, RuleType, Status

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
