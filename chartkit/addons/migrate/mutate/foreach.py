"""`foreach` of mutate rules: a patch of each element of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.matching.scope import Scope
from chartkit.addons.migrate.mutate.fields import Mutation, object_field
from chartkit.addons.migrate.mutate.json_patch import json_patch
from chartkit.addons.migrate.mutate.loops import Loop, loop_of, some
from chartkit.addons.migrate.mutate.overlay import merged, merged_for_each
from chartkit.addons.migrate.mutate.patches import anchor_of, note_unused, plain_key
from chartkit.engine.cluster_policy.pattern.build import AnchorKind
from chartkit.model import Body, Json

_SEVERAL: Final = re.compile(r"(request\.object(?:\.\w+)*)\.\[([\w, ]+)\]\s*\[\]")
_OBJECT: Final = "request.object."
_MERGE: Final = "patchStrategicMerge"
_JSON_PATCH: Final = "patchesJson6902"


def loop_mutations(
    foreach: Sequence[Body], scope: Scope, names: Names, namespace: str
) -> list[Mutation]:
    """Return the mutations of a foreach, one for each of its lists; raises `NotConvertible`.

    namespace: of a namespaced policy; empty for a ClusterPolicy.
    """
    return [
        mutation
        for at, body in enumerate(foreach)
        for mutation in _mutations(body, scope, names, namespace, f"mutate/foreach/{at}")
    ]


def _mutations(body: Body, scope: Scope, names: Names, namespace: str, path: str) -> list[Mutation]:
    if body.get(_MERGE) is not None:
        return _merges(body, scope, names, namespace, path)
    loops: list[Loop] = []
    while True:
        loops.append(loop_of(body, names, namespace, len(loops)))
        names = loops[-1].names
        nested = body.get("foreach")
        if not nested:
            break
        path = f"{path}/foreach/0"
        if len(nested) > 1:
            raise NotConvertible("several lists of a foreach in a foreach", path)
        (body,) = nested
    if not body.get(_JSON_PATCH):
        raise NotConvertible("a foreach in a foreach that merges, or one without a patch", path)
    patch = json_patch(body[_JSON_PATCH], scope.object, names, loops)
    return [Mutation(patch, is_json_patch=True)]


def _merges(body: Body, scope: Scope, names: Names, namespace: str, path: str) -> list[Mutation]:
    """Return the mutations of a loop with strategic merges."""
    patch = body[_MERGE]
    if body.get("order") == "Ascending":
        raise NotConvertible("a foreach in ascending order turns lists round", f"{path}/order")
    loops = [
        loop_of({**body, "list": each}, names, namespace)
        for each in _lists(str(body.get("list") or "").strip(), patch)
    ]
    by_path = {loop.path: loop for loop in loops}
    patched = dict(_lists_in(patch))
    note_unused(patch, loops[0].names)
    whole = object_field(scope, scope.object)
    if not patched.keys() & by_path.keys():
        (loop,) = loops
        return merged_for_each(patch, whole, loop)
    mutations = merged(patch, whole, names, by_path)
    if set(_leaves(patch)) <= by_path.keys():
        return mutations
    # What is outside of the lists is patched where there is an element.
    needed = disjunction(*(some([loop]) for loop in loops))
    if needed == cel.TRUE:
        return mutations
    return [replace(each, conditions=(*each.conditions, needed)) for each in mutations]


def _lists(text: str, patch: Json) -> list[str]:
    """Return the lists of a loop: of several lists joined, each by itself of which the patch names
    the elements by an anchor, for names of containers are unique."""
    several = _SEVERAL.fullmatch(text)
    if several is None:
        return [text]
    patched = {path for path, element in _lists_in(patch) if "(name)" in element}
    named = [f"{several[1]}.{each.strip()}" for each in several[2].split(",")]
    lists = [f"{each}[]" for each in named if each.removeprefix(_OBJECT) in patched]
    return lists or [text]


def _lists_in(patch: Json, path: str = "") -> Iterator[tuple[str, Body]]:
    """Yield the lists of a patch that have one object, each by its path, and the object."""
    match patch:
        case dict():
            for key, value in patch.items():
                yield from _lists_in(value, f"{path}.{key}" if path else key)
        case [dict() as element]:
            yield path, element


def _leaves(patch: Json, path: str = "") -> Iterator[str]:
    """Yield the paths of the values of a patch, conditions aside; a list is one."""
    if not isinstance(patch, dict):
        yield path
        return
    for written, value in patch.items():
        anchor = anchor_of(written)
        if anchor is None or anchor.kind is AnchorKind.ADDITION:
            key = plain_key(written)
            yield from _leaves(value, f"{path}.{key}" if path else key)
