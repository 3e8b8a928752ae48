"""`patchStrategicMerge`: a patch that is merged into an object."""

from __future__ import annotations

from chartkit.engine.mutate.anchors import applicable, decide
from chartkit.engine.mutate.keys import HANDLED, has_anchors
from chartkit.engine.mutate.merge import merge
from chartkit.engine.mutate.nodes import PatchError, copied, same, second_key
from chartkit.engine.mutate.workspace import Patch, Workspace
from chartkit.model import Body, Json


def compile_merge(body: Json) -> Patch:
    """What merges a patch without variables; without anchors, it is reduced here and now."""
    reduced = None if has_anchors(body, HANDLED) else _reduced(body)
    if reduced is None:
        return lambda resource, work=None: merged(body, resource, work)

    def run(resource: Body, work: Workspace | None = None) -> Json:
        _count(work, body)
        target = copied(resource)
        decide(body, target)
        return _changed(resource, merge(target, copied(reduced)))

    return run


def _reduced(body: Json) -> Json:
    """The patch that is left of one without anchors; None where it can never be applied."""
    try:
        return applicable(copied(body), {})
    except PatchError:
        return None


def merged(body: Json, resource: Body, work: Workspace | None = None) -> Json:
    """The object with a patch merged in, as a `Patch` gives it."""
    _count(work, body)
    target = copied(resource)
    patch = applicable(copied(body), target)
    is_doubled = second_key(patch) is not None
    patched = merge(target, patch)
    key = second_key(patched) if is_doubled else None
    if key is not None:
        raise PatchError(
            f'yaml: unmarshal errors:\n  line 1: mapping key "{key}" already defined at line 1'
        )
    return _changed(resource, patched)


def _count(work: Workspace | None, patch: Json) -> None:
    if work is not None:
        work.budget.visit(patch, "a strategic merge")


def _changed(resource: Body, patched: Json) -> Json:
    return resource if same(resource, patched) else patched
