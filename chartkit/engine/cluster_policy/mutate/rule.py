"""Mutate rules: what they make of the object of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chartkit.engine.cluster_policy.handler import Handler
from chartkit.engine.cluster_policy.mutate.foreach import compile_foreach
from chartkit.engine.cluster_policy.mutate.patcher import (
    Patched,
    Patcher,
    as_json,
    compile_rule_patcher,
)
from chartkit.engine.cluster_policy.mutate.workspace import Workspace
from chartkit.engine.request.request import Operation
from chartkit.model import Body, Resource, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.policy import Policy, Rule
    from chartkit.engine.context.context import Context
    from chartkit.engine.request.request import Request


def compile_mutate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a rule that mutates the object of the request.

    An error leaves an empty object behind: no later rule of the request sees anything.
    """
    patch = compile_patch(rule, policy)

    def handle(context: Context, request: Request) -> RuleResult | None:
        # What is deleted is the old object: there is no new one to be changed.
        body = {} if request.operation is Operation.DELETE else request.resource.body
        done = patch(context.child(), body, Workspace(context.budget))
        patched = None if done.status is Status.SKIP else as_json(done.body)
        return RuleResult(
            policy.key, rule.name, RuleType.MUTATION, done.status, describe(done), patched=patched
        )

    return handle


def compile_patch(rule: Rule, policy: Policy) -> Patcher:
    """Return the patcher of a rule."""
    blocks = (rule.mutate or {}).get("foreach")
    if blocks is None:
        return compile_rule_patcher(rule)
    return compile_foreach(blocks, rule, policy)


def describe(done: Patched) -> str:
    """The message of a result."""
    return _success(done.body) if done.status is Status.PASS else done.message


def _success(body: Body) -> str:
    resource = Resource(body)
    text = f"mutated {resource.kind}/{resource.name}"
    return f"{text} in namespace {resource.namespace}" if resource.namespace else text
