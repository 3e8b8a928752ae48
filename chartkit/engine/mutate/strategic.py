"""`patchStrategicMerge`: a patch that is merged into an object."""

from __future__ import annotations

from chartkit.engine.mutate.anchors import applicable, decide
from chartkit.engine.mutate.keys import HANDLED, has_anchors
from chartkit.engine.mutate.merge import merge
from chartkit.engine.mutate.nodes import Patch, copied, same
from chartkit.model import Body, Json


def compile_merge(body: Json) -> Patch:
    """What merges a patch without variables; without anchors, it is reduced here and now."""
    if has_anchors(body, HANDLED) or not isinstance(body, dict):
        return lambda resource: merged(body, resource)
    reduced = applicable(copied(body), {})

    def run(resource: Body) -> Json:
        decide(body, resource)
        return _changed(resource, merge(copied(resource), copied(reduced)))

    return run


def merged(body: Json, resource: Body) -> Json:
    """The object with a patch merged in, as a `Patch` gives it."""
    return _changed(resource, merge(copied(resource), applicable(copied(body), resource)))


def _changed(resource: Body, patched: Json) -> Json:
    return resource if same(resource, patched) else patched
