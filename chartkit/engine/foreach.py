"""`foreach` of validate rules: the same decision for every element of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.engine.conditions import Conditions, compile_conditions
from chartkit.engine.decision import Block, Check, Checked
from chartkit.engine.entries import ContextEntries, compile_entries
from chartkit.engine.jmespath import NotFoundError
from chartkit.errors import ChartkitError, EvaluationError
from chartkit.model import Body, Json, Status

if TYPE_CHECKING:
    from chartkit.engine.context import Context
    from chartkit.engine.policy import Policy, Rule
    from chartkit.engine.request import Request

_GO_KINDS: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "float64",
    float: "float64",
    list: "[]interface {}",
}


@dataclass(frozen=True, slots=True)
class Loop:
    """One entry of a `foreach` list.

    scope: whether patterns look at the element; None: they do where the element is an object.
    """

    list: str
    scope: bool | None
    entries: ContextEntries
    preconditions: Conditions | None
    check: Check


CompileBlock = Callable[["Block", "Rule", "Policy", int], "Check"]
"""Compiles what stands inside a loop, other loops among it."""


def compile_foreach(
    bodies: Sequence[Body], rule: Rule, policy: Policy, nesting: int, compile_block: CompileBlock
) -> Check:
    """What decides a foreach; nesting counts from 0 for the outermost one."""
    loops = [_compile_loop(body, rule, policy, compile_block, nesting + 1) for body in bodies]
    passed = Checked(Status.PASS, "rule passed")

    def check(context: Context, request: Request, element: Json) -> Checked | None:
        applied = 0
        unlisted = ""
        for loop in loops:
            try:
                elements = evaluate_list(loop.list, context)
            except EvaluationError as error:
                if not _is_missing(error):
                    unlisted = error.message
                continue
            failed, count = _run(loop, elements, nesting, context, request, element)
            if failed is not None:
                return failed
            applied += count
        if applied:
            return passed
        if unlisted:
            return Checked(Status.ERROR, f"failed to evaluate list: {unlisted}")
        return None

    return check


def evaluate_list(expression: str, context: Context) -> list[Json]:
    """The elements that a foreach's `list` gives; anything else than a list is its one element."""
    found = context.query_text(expression)
    return found if isinstance(found, list) else [found]


def _is_missing(error: EvaluationError) -> bool:
    return isinstance(error.__cause__, NotFoundError) or "Unknown key" in error.message


def _compile_loop(
    body: Body, rule: Rule, policy: Policy, compile_block: CompileBlock, nesting: int
) -> Loop:
    block = Block(
        body.get("pattern"),
        body.get("anyPattern"),
        body.get("deny"),
        tuple(body.get("foreach") or ()),
    )
    conditions = body.get("preconditions")
    scope = body.get("elementScope")
    return Loop(
        body.get("list") or "",
        scope if isinstance(scope, bool) else None,
        compile_entries(
            body.get("context") or (),
            policy=policy.name,
            rule=rule.name,
            namespace=policy.namespace,
        ),
        None if conditions is None else compile_conditions(conditions),
        compile_block(block, rule, policy, nesting),
    )


def _run(
    loop: Loop,
    elements: list[Json],
    nesting: int,
    context: Context,
    request: Request,
    outer: Json,
) -> tuple[Checked | None, int]:
    """The first decision that is no pass, and how many elements passed."""
    applied = 0
    for index, element in enumerate(elements):
        if element is None:
            continue
        inner = context.child()
        inner.set_element(element, index, nesting)
        is_object = isinstance(element, dict)
        if loop.scope and not is_object:
            kind = _GO_KINDS[type(element)]
            text = (
                "failed to process foreach: cannot use elementScope=true foreach rules for "
                f"elements that are not maps, expected type=map got type={kind}"
            )
            return Checked(Status.ERROR, text), applied
        scoped = is_object if loop.scope is None else loop.scope
        checked = _decide(loop, inner, request, element if scoped else outer)
        if checked is None or checked.status is Status.SKIP:
            continue
        if checked.status is not Status.PASS:
            return Checked(checked.status, f"validation failure: {checked.message}"), applied
        applied += 1
    return None, applied


def _decide(loop: Loop, context: Context, request: Request, element: Json) -> Checked | None:
    try:
        loop.entries.attach(context)
    except ChartkitError as error:
        return Checked(Status.ERROR, f"failed to load context: {error.message}")
    if loop.preconditions is not None:
        try:
            if not loop.preconditions.evaluate(context).holds:
                return None
        except ChartkitError:
            # Kyverno passes over an element whose preconditions cannot be evaluated.
            return None
    return loop.check(context, request, element)
