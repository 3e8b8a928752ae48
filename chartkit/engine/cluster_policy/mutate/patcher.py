"""A patch of one object, of a rule or of a foreach, with its variables substituted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from chartkit.engine.budget import PATCH, Budget
from chartkit.engine.cluster_policy.conditions.blocks import Conditions
from chartkit.engine.cluster_policy.foreach import Loop, compile_loop, each_element
from chartkit.engine.cluster_policy.mutate.anchors import HANDLED, applicable, decide, has_anchors
from chartkit.engine.cluster_policy.mutate.json_patch import compile_json_patch
from chartkit.engine.cluster_policy.mutate.merge import merge
from chartkit.engine.cluster_policy.mutate.workspace import Patch, Workspace
from chartkit.engine.cluster_policy.pattern.build import weight_of
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.entries import ContextEntries
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.engine.json_patch import PatchError, copied, second_key
from chartkit.errors import ChartkitError, EvaluationError
from chartkit.go.fmt import go_json
from chartkit.go.strconv import has_float64, mark_literals
from chartkit.go.types import kind_of
from chartkit.model import Body, Json, Status, same

_MERGE: Final = "a strategic merge"


def compile_merge(body: Json) -> Patch:
    """Return a patch without variables as a merge; without anchors, it is reduced at once."""
    reduced = None if has_anchors(body, HANDLED) else _reduced(body)
    weight = weight_of(body)
    if reduced is None:
        return lambda resource, work=None: merged(body, resource, weight, work or Workspace())

    def run(resource: Body, work: Workspace | None = None) -> Json:
        work = work or Workspace()
        work.budget.spend(weight, _MERGE)
        target = work.target(resource)
        decide(body, target, work.budget)
        return _merged(resource, target, copied(reduced), work)

    return run


def _reduced(body: Json) -> Json:
    """The patch that is left of one without anchors; None where it can never be applied."""
    try:
        return applicable(copied(body), {}, Budget())
    except PatchError:
        return None


def merged(body: Json, resource: Body, weight: int, work: Workspace) -> Json:
    """The object with a patch merged in, as a `Patch` gives it; weight: the patch's parts."""
    work.budget.spend(weight, _MERGE)
    target = work.target(resource)
    patch = applicable(copied(body), target, work.budget, work.unmet)
    is_doubled = second_key(patch) is not None
    patched = _merged(resource, target, patch, work)
    key = second_key(patched) if is_doubled else None
    if key is not None:
        raise PatchError(
            f'yaml: unmarshal errors:\n  line 1: mapping key "{key}" already defined at line 1'
        )
    return patched


def _merged(resource: Body, target: Body, patch: Json, work: Workspace) -> Json:
    made = merge(target, patch, work)
    if not work.shares:
        return resource if same(resource, made) else made
    if same(target, made):
        work.left()
        return resource
    work.keep(made, work.changed, patch)
    return made


MERGE: Final = "patchStrategicMerge"
JSON_PATCH: Final = "patchesJson6902"


@dataclass(frozen=True, slots=True)
class Patched:
    """The result of patching: PASS, SKIP or ERROR; body: the object after it, empty for an
    error."""

    status: Status
    body: Body
    message: str


Patcher = Callable[["Context", Body, Workspace], Patched]
"""Patches an object in a context."""


def compile_rule_patcher(rule: Rule) -> Patcher:
    """Return the patcher of a rule's own patch.

    Kyverno substitutes variables in the whole rule: what fails in its context or preconditions
    fails here.
    """
    mutate = {key: value for key, value in (rule.mutate or {}).items() if key != "foreach"}
    body = {"context": list(rule.context), "mutate": mutate, "preconditions": rule.preconditions}
    return _patcher(body, lambda resolved: resolved["mutate"], _wrong_text)


def _patcher(
    body: Body, choose: Callable[[Json], Body], on_wrong: Callable[[Json], str]
) -> Patcher:
    template = compile_template(body)
    if template.is_constant:
        constant = _compiled(choose(template.value))
        return lambda _context, resource, work: _applied(constant, resource, work)

    def patch(context: Context, resource: Body, work: Workspace) -> Patched:
        try:
            resolved = choose(template.resolve(context))
            text = resolved.get(JSON_PATCH)
            if text is not None and not isinstance(text, str):
                resolved = {**resolved, JSON_PATCH: on_wrong(text)}
        except SubstitutionError as error:
            return failed(f"variable substitution failed: {error.message}")
        return _applied(_compiled(resolved, work.budget), resource, work)

    return patch


def _wrong_text(value: Json) -> str:
    raise SubstitutionError(
        f"json: cannot unmarshal {kind_of(value)} into Go struct field "
        f"Mutation.mutate.{JSON_PATCH} of type string"
    )


def _compiled(body: Body, budget: Budget | None = None) -> Patch | None:
    """Return a patch; budget: the budget of its only object, None for any number of objects."""
    if body.get(MERGE) is None:
        return compile_json_patch(body[JSON_PATCH]) if body.get(JSON_PATCH) else None
    if budget is None:
        return compile_merge(as_json(body[MERGE]))
    budget.weigh(body[MERGE], MERGE)
    patch = as_json(body[MERGE])
    # It has been weighed.
    return lambda resource, work=None: merged(patch, resource, 0, work or Workspace())


def as_json(value: Json) -> Json:
    """The value as JSON carries it: whole numbers are int."""
    if isinstance(value, dict):
        return {
            key: member if member.__class__ is str else as_json(member)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [member if member.__class__ is str else as_json(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _MOST_INTEGER:
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


_MOST_INTEGER: Final = 1e21


def _applied(patch: Patch | None, resource: Body, work: Workspace) -> Patched:
    if patch is None:
        return failed("empty mutate rule")
    work.budget.spend(PATCH, "a patch")
    try:
        patched = patch(resource, work)
    except PatchError as error:
        return failed(f"failed to patch resource: {error.message}")
    if patched is resource and resource:
        return Patched(Status.SKIP, resource, "no patches applied")
    if problem := _object_problem(patched):
        return failed(f"failed to unmarshal patched resource: {problem}")
    return Patched(Status.PASS, patched, "resource patched")


def _object_problem(patched: Json) -> str:
    """Return why a patched value is not a Kubernetes object; empty if it is one."""
    if not isinstance(patched, dict):
        return "json: cannot unmarshal array into Go value of type map[string]interface {}"
    kind = patched.get("kind")
    if isinstance(kind, str) and kind:
        return ""
    return f"Object 'Kind' is missing in '{go_json(patched)}'"


def failed(message: str) -> Patched:
    """An error; nothing is left of the object, as in Kyverno."""
    return Patched(Status.ERROR, {}, message)


_DESCENDING: Final = "Descending"


def compile_foreach(blocks: list[Body], rule: Rule, policy: Policy, nesting: int = 0) -> Patcher:
    """Return a patcher that applies the blocks of a foreach, one after the other."""

    def compile_block(block: Body) -> Patcher:
        if nested := block.get("foreach"):
            return compile_foreach(nested, rule, policy, nesting + 1)
        body = {key: block.get(key) for key in (MERGE, JSON_PATCH)}
        return _patcher(body, lambda resolved: resolved, lambda _: "")

    loops = [compile_loop(block, rule, policy, compile_block) for block in blocks]

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
                # Expressions see a patched object as `request.object`.
                resource = mark_literals(done.body)
                seen = context.data.get("request")
                request = seen if isinstance(seen, dict) else {}
                context.set("request", {**request, "object": resource})
        status = Status.PASS if changed else Status.SKIP
        return Patched(status, resource, f"{changed} elements processed")

    return patch


def _run(
    loop: Loop[Patcher],
    elements: list[Json],
    nesting: int,
    context: Context,
    resource: Body,
    work: Workspace,
) -> Patched:
    before = resource
    order = loop.body.get("order")
    last_first = loop.body.get(MERGE) is not None if order is None else order == _DESCENDING
    for index, _, inner in each_element(elements, context, nesting, is_reversed=last_first):
        done = unmet(loop.entries, loop.preconditions, inner, f"mutate.foreach[{index}].")
        done = done or loop.run(inner, resource, work)
        if done.status is Status.SKIP:
            continue
        if done.status is Status.ERROR:
            return done
        resource = done.body
    # Whether a loop left the object as it was, in the eyes of Go's `reflect.DeepEqual`. Each
    # patch that changes something reads the object anew, whole numbers as int64: an object that
    # had them as float64 differs then, even where a later element takes the change back. A
    # strategic merge into a list moves what it names to the front, so two elements are enough
    # for that.
    is_untouched = resource is before or (same(before, resource) and not has_float64(before))
    status = Status.SKIP if is_untouched else Status.PASS
    return Patched(status, resource, "")


def unmet(
    entries: ContextEntries, conditions: Conditions | None, context: Context, path: str = ""
) -> Patched | None:
    """Return why an element or a target is left unchanged; None if it is patched. path: the field
    of the policy in messages, with a dot at its end."""
    load = f"to {path}context" if path else "context"
    try:
        entries.attach(context)
    except ChartkitError as error:
        return failed(f"failed to load {load}: {error.message}")
    if conditions is None:
        return None
    try:
        outcome = conditions.evaluate(context)
    except ChartkitError as error:
        return failed(f"failed to evaluate {path}preconditions: {error.message}")
    if outcome.holds:
        return None
    text = "; ".join(filter(None, ("preconditions not met", outcome.message)))
    return Patched(Status.SKIP, {}, text)
