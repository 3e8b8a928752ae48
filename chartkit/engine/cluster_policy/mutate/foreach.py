"""`foreach` of mutate rules: the same patch for every element of a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import ITERATION
from chartkit.engine.cluster_policy.conditions import Conditions, compile_conditions
from chartkit.engine.cluster_policy.foreach import compile_list
from chartkit.engine.cluster_policy.mutate.patcher import (
    MERGE,
    Patched,
    Patcher,
    compile_element_patcher,
    failed,
)
from chartkit.engine.cluster_policy.mutate.workspace import Workspace
from chartkit.engine.context.entries import ContextEntries, compile_entries
from chartkit.engine.json_patch.nodes import same
from chartkit.errors import ChartkitError, EvaluationError
from chartkit.go.int64 import has_float64, mark_literals
from chartkit.model import Body, Json, Status

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.policy import Policy, Rule
    from chartkit.engine.context.context import Context

_DESCENDING: Final = "Descending"


@dataclass(frozen=True, slots=True)
class _Loop:
    """One entry of a `foreach` list.

    text: its own `list`; is_reversed: whether the last element comes first.
    """

    text: str
    elements: Callable[[Context], list[Json]]
    is_reversed: bool
    entries: ContextEntries
    preconditions: Conditions | None
    patch: Patcher


def compile_foreach(blocks: list[Body], rule: Rule, policy: Policy, nesting: int = 0) -> Patcher:
    """Return a patcher that applies the blocks of a foreach, one after the other."""
    loops = [_compile_loop(block, rule, policy, nesting) for block in blocks]

    def patch(context: Context, resource: Body, work: Workspace) -> Patched:
        changed = 0
        for loop in loops:
            try:
                elements = loop.elements(context)
            except EvaluationError as error:
                reason = error.message
                return failed(f"failed to evaluate list {loop.text}: {reason}: {reason}")
            done = _run(loop, elements, nesting, context, resource, work)
            if done.status is Status.ERROR:
                return failed(f"failed to mutate elements: {done.message}")
            if done.status is Status.PASS:
                changed += 1
                resource = show_object(context, done.body)
        status = Status.PASS if changed else Status.SKIP
        return Patched(status, resource, f"{changed} elements processed")

    return patch


def show_object(context: Context, body: Body) -> Body:
    """Lets expressions see a patched object as `request.object`; returns it as they see it."""
    seen = context.data.get("request")
    request = dict(seen) if isinstance(seen, dict) else {}
    marked: Body = mark_literals(body)
    context.set("request", {**request, "object": marked})
    return marked


def _compile_loop(body: Body, rule: Rule, policy: Policy, nesting: int) -> _Loop:
    conditions = body.get("preconditions")
    order = body.get("order")
    nested = body.get("foreach")
    text = body.get("list") or ""
    return _Loop(
        text,
        compile_list(text),
        order == _DESCENDING if order is not None else body.get(MERGE) is not None,
        compile_entries(
            body.get("context") or (),
            policy=policy.name,
            rule=rule.name,
            namespace=policy.namespace,
        ),
        None if conditions is None else compile_conditions(conditions),
        compile_foreach(nested, rule, policy, nesting + 1)
        if nested
        else compile_element_patcher(body),
    )


def _run(
    loop: _Loop,
    elements: list[Json],
    nesting: int,
    context: Context,
    resource: Body,
    work: Workspace,
) -> Patched:
    before = resource
    budget, loops = context.budget, f"a foreach over {len(elements)} elements"
    indexed = list(enumerate(elements))
    for index, element in reversed(indexed) if loop.is_reversed else indexed:
        if element is None:
            continue
        budget.spend(ITERATION, loops)
        inner = context.child()
        inner.set_element(element, index, nesting)
        done = _patch_element(loop, index, inner, resource, work)
        if done is None or done.status is Status.SKIP:
            continue
        if done.status is Status.ERROR:
            return done
        resource = done.body
    status = Status.SKIP if _is_untouched(before, resource) else Status.PASS
    return Patched(status, resource, "")


def _is_untouched(before: Body, after: Body) -> bool:
    """Return whether a loop left the object as it was, in the eyes of Go's `reflect.DeepEqual`.

    Each patch that changes something reads the object anew, whole numbers as int64: an object that
    had them as float64 differs then, even where a later element takes the change back. A strategic
    merge into a list moves what it names to the front, so two elements are enough for that.
    """
    return after is before or (same(before, after) and not has_float64(before))


def _patch_element(
    loop: _Loop, index: int, context: Context, resource: Body, work: Workspace
) -> Patched | None:
    """None where the element's preconditions are not met."""
    place = f"mutate.foreach[{index}]"
    try:
        loop.entries.attach(context)
    except ChartkitError as error:
        return failed(f"failed to load to {place}.context: {error.message}")
    if loop.preconditions is not None:
        try:
            if not loop.preconditions.evaluate(context).holds:
                return None
        except ChartkitError as error:
            return failed(f"failed to evaluate {place}.preconditions: {error.message}")
    return loop.patch(context, resource, work)
