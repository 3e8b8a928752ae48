"""`foreach` of validate rules: the same decision for every element of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from chartkit.engine.budget import ITERATION
from chartkit.engine.cluster_policy.conditions.blocks import Conditions
from chartkit.engine.cluster_policy.handler import Check, Checked, FindFields, compile_scope
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.entries import ContextEntries
from chartkit.engine.context.recorder import Recorder, field_of
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.traced import Traced
from chartkit.engine.request import Request
from chartkit.engine.why import MISSING, Asked, Decision
from chartkit.errors import ChartkitError, EvaluationError
from chartkit.go.fmt import go_type
from chartkit.go.strconv import Int64
from chartkit.model import Body, FieldPath, Json, Status
from chartkit.safe_text import shown

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loop(Generic[T]):
    """One entry of a `foreach` list, whose body is as written.

    text: its `list`; elements: the result of the list; run: what is done with each element.
    """

    body: Body
    text: str
    elements: Callable[[Context], list[Json]]
    entries: ContextEntries
    preconditions: Conditions | None
    run: T


def compile_loop(
    body: Body, rule: Rule, policy: Policy, compile_run: Callable[[Body], T]
) -> Loop[T]:
    """Compile an entry of a `foreach` list, and last what it does."""
    text: str = body.get("list") or ""
    scope = compile_scope(body, rule, policy)
    return Loop(body, text, compile_list(text), *scope, compile_run(body))


CompileBlock = Callable[["Body", "Rule", "Policy", int], "Check"]
"""Compiles what stands inside a loop, other loops among it."""


def compile_foreach(
    bodies: Sequence[Body], rule: Rule, policy: Policy, nesting: int, compile_block: CompileBlock
) -> Check:
    """Return the check of a `foreach`; nesting: the number of loops around it."""
    loops = [
        compile_loop(body, rule, policy, lambda one: compile_block(one, rule, policy, nesting + 1))
        for body in bodies
    ]
    passed = Checked(Status.PASS, "rule passed")

    def check(context: Context, request: Request, element: Json) -> Checked | None:
        applied = 0
        unlisted = ""
        for loop in loops:
            try:
                elements = loop.elements(context)
            except EvaluationError as error:
                # Kyverno goes by the text, wherever in it the missing key is named.
                if "Unknown key" not in error.message:
                    unlisted = error.message
                if context.recorder is not None:
                    _record_list(context.recorder, loop, error.message)
                continue
            if context.recorder is not None and not elements:
                _record_list(context.recorder, loop, "the list is empty")
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


def compile_list(text: str) -> Callable[[Context], list[Json]]:
    """Return the elements of a foreach's `list`; any value but a list is a single element.

    It raises `EvaluationError` where the expression cannot be searched.
    """
    try:
        expression = compile_expression(text.strip()) if text.strip() else None
    except JMESPathError:
        expression = None

    def elements(context: Context) -> list[Json]:
        value = context.query_text(text) if expression is None else context.query(expression)
        return value if isinstance(value, list) else [value]

    return elements


def each_element(
    elements: list[Json], context: Context, nesting: int, *, is_reversed: bool = False
) -> Iterator[tuple[int, Json, Context]]:
    """Yield the elements of a loop that are not null, counted, each with its index and a context
    of its own. nesting: the number of loops around this one."""
    loop = f"a foreach over {len(elements)} elements"
    indexed = list(enumerate(elements))
    for index, element in reversed(indexed) if is_reversed else indexed:
        if element is not None:
            context.budget.spend(ITERATION, loop)
            inner = context.child()
            inner.set_element(element, index, nesting)
            yield index, element, inner


def _run(
    loop: Loop[Check],
    elements: list[Json],
    nesting: int,
    context: Context,
    request: Request,
    outer: Json,
) -> tuple[Checked | None, int]:
    """Return the first decision other than a pass, and how many elements passed."""
    applied = 0
    # Whether patterns look at the element; else they do where it is an object.
    scope = loop.body.get("elementScope")
    listed = context.recorder and context.recorder.traced(context, f"{{{{ {loop.text} }}}}")
    members = None if context.recorder is None else listed.members() if listed else []
    for index, element, inner in each_element(elements, context, nesting):
        is_object = isinstance(element, dict)
        if scope is True and not is_object:
            text = (
                "failed to process foreach: cannot use elementScope=true foreach rules for "
                f"elements that are not maps, expected type=map got type={go_type(element)}"
            )
            return Checked(Status.ERROR, text), applied
        scoped = scope if isinstance(scope, bool) else is_object
        judged = element if scoped else outer
        if context.recorder is None or members is None:
            checked = _decide(loop, inner, request, judged)
        else:
            loop_element = _LoopElement(loop, inner, index, nesting, scoped)
            decide = partial(_decide, loop, inner, request, judged)
            traced = members[index] if index < len(members) else Traced(element)
            checked = _record_element(context.recorder, loop_element, traced, decide)
        if checked is None or checked.status is Status.SKIP:
            continue
        if checked.status is not Status.PASS:
            fields = None
            if checked.fields is not None:
                refused = _LoopElement(loop, inner, index, nesting, scoped)
                fields = partial(_fields, checked.fields, refused)
            message = f"validation failure: {checked.message}"
            return Checked(checked.status, message, fields), applied
        applied += 1
    return None, applied


@dataclass(frozen=True, slots=True)
class _LoopElement:
    """An element of a loop; inner: its context; scoped: whether patterns look at
    it."""

    loop: Loop[Check]
    inner: Context
    index: int
    nesting: int
    scoped: bool

    def names(self, element: Traced) -> dict[str, Traced]:
        """Return the names under which expressions see the element, and its index."""
        index = Traced(Int64(self.index))
        return {
            "element": element,
            f"element{self.nesting}": element,
            "elementIndex": index,
            f"elementIndex{self.nesting}": index,
        }


def _fields(fields: FindFields, refused: _LoopElement, origins: Origins) -> Iterable[FieldPath]:
    """Return the fields behind the refusal of an element."""
    listed = origins.query(refused.loop.text)
    is_list = isinstance(listed.value, list)
    element = listed.members()[refused.index] if is_list else listed
    judged = element if refused.scoped else origins.judged
    return fields(origins.inside(refused.inner, judged, refused.names(element)))


def _decide(loop: Loop[Check], context: Context, request: Request, element: Json) -> Checked | None:
    try:
        loop.entries.attach(context)
    except ChartkitError as error:
        return Checked(Status.ERROR, f"failed to load context: {error.message}")
    if loop.preconditions is not None:
        try:
            if not loop.preconditions.ask(context).holds:
                return None
        except ChartkitError:
            # Kyverno passes over an element whose preconditions cannot be evaluated.
            return None
    return loop.run(context, request, element)


def _record_element(
    recorder: Recorder, item: _LoopElement, traced: Traced, decide: Callable[[], Checked | None]
) -> Checked | None:
    """Return the decision about an element, which is recorded with its parts."""
    loop, index, element = item.loop, item.index, traced.value
    names = item.names(traced)
    judged = traced if item.scoped else recorder.judged
    with recorder.inside_element(judged, names), recorder.inside() as parts:
        checked = decide()
    status = Status.SKIP if checked is None else checked.status
    answer = "passed over" if status is Status.SKIP else status
    text = f"element {index} of {shown(loop.text)}: {answer}"
    pointer = field_of(traced)
    location = recorder.sources.location(loop.body)
    holds = None if status is Status.ERROR else status is not Status.FAIL
    is_shown = not (isinstance(element, dict | list) or recorder.is_secret)
    value = element if is_shown else MISSING
    recorder.add(Decision(Asked.ELEMENT, holds, text, location, pointer, value, tuple(parts)))
    return checked


def _record_list(recorder: Recorder, loop: Loop[Check], message: str) -> None:
    """Record why a loop has no elements."""
    location = recorder.sources.location(loop.body)
    text = f"{shown(loop.text)}: {shown(message)}"
    recorder.add(Decision(Asked.FOREACH, None, text, location))
