"""`patchStrategicMerge`: a patch that is merged into an object."""

from __future__ import annotations

from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.mutate.anchors import applicable, decide
from chartkit.engine.cluster_policy.mutate.keys import HANDLED, has_anchors
from chartkit.engine.cluster_policy.mutate.merge import merge
from chartkit.engine.cluster_policy.mutate.workspace import Patch, Workspace
from chartkit.engine.cluster_policy.pattern.build import weight_of
from chartkit.engine.json_patch.nodes import PatchError, copied, same, second_key
from chartkit.model import Body, Json

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
