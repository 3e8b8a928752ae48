"""A patch of one object, of a rule or of a foreach, with its variables substituted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import PATCH, Budget
from chartkit.engine.cluster_policy.mutate.anchors import applicable, decide
from chartkit.engine.cluster_policy.mutate.json_patch import compile_json_patch
from chartkit.engine.cluster_policy.mutate.keys import HANDLED, has_anchors
from chartkit.engine.cluster_policy.mutate.merge import merge
from chartkit.engine.cluster_policy.mutate.workspace import Patch, Workspace
from chartkit.engine.cluster_policy.pattern.build import weight_of
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.engine.json_patch.nodes import PatchError, copied, same, second_key
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json, Status

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.policy import Rule
    from chartkit.engine.context.context import Context

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
    patch = applicable(copied(body), target, work.budget)
    is_doubled = second_key(patch) is not None
    patched = _merged(resource, target, patch, work)
    key = second_key(patched) if is_doubled else None
    if key is not None:
        raise PatchError(
            f'yaml: unmarshal errors:\n  line 1: mapping key "{key}" already defined at line 1'
        )
    return patched


def _merged(resource: Body, target: Body, patch: Json, work: Workspace) -> Json:
    settled = work.settled
    made = merge(target, patch, work)
    if settled is None:
        return resource if same(resource, made) else made
    if same(target, made):
        settled.left()
        return resource
    settled.keep(made, patch)
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


def compile_element_patcher(block: Body) -> Patcher:
    """Return the patcher of a foreach's patch."""
    body = {key: block.get(key) for key in (MERGE, JSON_PATCH)}
    return _patcher(body, lambda resolved: resolved, _no_text)


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
        return _applied(_found(resolved, work.budget), resource, work)

    return patch


def _wrong_text(value: Json) -> str:
    kinds = ((bool, "bool"), (dict, "object"), (list, "array"))
    name = next((name for kind, name in kinds if isinstance(value, kind)), "number")
    raise SubstitutionError(
        f"json: cannot unmarshal {name} into Go struct field "
        f"Mutation.mutate.{JSON_PATCH} of type string"
    )


def _no_text(_value: Json) -> str:
    return ""


def _compiled(body: Body) -> Patch | None:
    if body.get(MERGE) is not None:
        return compile_merge(as_json(body[MERGE]))
    return compile_json_patch(body[JSON_PATCH]) if body.get(JSON_PATCH) else None


def _found(body: Body, budget: Budget) -> Patch | None:
    """As `_compiled`, for a patch that serves one object."""
    if body.get(MERGE) is not None:
        budget.weigh(body[MERGE], MERGE)
        patch = as_json(body[MERGE])
        # It has been weighed.
        return lambda resource, work=None: merged(patch, resource, 0, work or Workspace())
    return compile_json_patch(body[JSON_PATCH]) if body.get(JSON_PATCH) else None


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
    problem = _object_problem(patched)
    if problem:
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
