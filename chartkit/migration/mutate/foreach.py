"""`foreach` of mutate rules: a patch of each element of a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conditions import conditions_hold
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.jmespath import Names, Stream, Translator, Value
from chartkit.migration.mutate.fields import object_field
from chartkit.migration.mutate.merge import Loop, StrategicMerge
from chartkit.migration.mutate.mutation import Mutation, applied
from chartkit.migration.scope import Scope
from chartkit.migration.verdict import conjunction
from chartkit.model import Body, Json

_SEVERAL: Final = re.compile(r"(request\.object(?:\.\w+)*)\.\[([\w, ]+)\]\s*\[\]")
_MERGE: Final = "patchStrategicMerge"


def loop_mutations(loops: Sequence[Body], scope: Scope, names: Names) -> list[Mutation]:
    """Return the mutations of loops, one each; raises `NotConvertible`."""
    return [_loop(loop, scope, names, f"mutate/foreach/{at}") for at, loop in enumerate(loops)]


def _loop(body: Body, scope: Scope, names: Names, path: str) -> Mutation:
    for key in ("context", "foreach"):
        if body.get(key):
            raise NotConvertible(f"a foreach with {key}", f"{path}/{key}")
    patch = body.get(_MERGE)
    if patch is None:
        raise NotConvertible("JSON patches in a foreach are not converted yet", path)
    if body.get("order") == "Ascending":
        raise NotConvertible("a foreach in ascending order turns lists round", f"{path}/order")
    stream, is_strict = _elements(str(body.get("list") or "").strip(), patch, names)
    (generator,) = stream.generators
    inner = names.without(generator.variable).with_others(element=Value(stream.item))
    where = generator.where
    if body.get("preconditions") is not None:
        where = conjunction(where, conditions_hold(body["preconditions"], inner))
    loop = Loop(generator.elements, generator.variable, where, is_strict)
    merge = StrategicMerge(inner, loop)
    made = merge.configuration(patch, object_field(scope, scope.object))
    if not merge.patches_loop or not _is_one_path(patch):
        raise NotConvertible("a foreach that patches something else than its element", path)
    return applied(made, merge.conditions, replaces=merge.replaces)


def _elements(text: str, patch: Json, names: Names) -> tuple[Stream, bool]:
    """Return the elements of a loop, and whether it is an error where there is no list.

    Of several lists joined, those count alone of which the patch names an element by an anchor:
    names of containers are unique.
    """
    several = _SEVERAL.fullmatch(text)
    translator = Translator(names)
    if several is not None:
        named = [each.strip() for each in several[2].split(",")]
        patched = _patched_list(patch)
        if patched not in named:
            raise NotConvertible("a foreach over lists that its patch does not name")
        found = translator.text(f"{several[1]}.{patched}")
        return translator.stream(found), False
    found = translator.text(text)
    stream = translator.stream(found)
    if len(stream.generators) != 1 or stream.item.value != cel.ident(stream.generators[0].variable):
        raise NotConvertible("a foreach over values that are computed")
    return stream, isinstance(found, Value) and found.strict


def _patched_list(patch: Json) -> str:
    """Return the field of the list that a patch names an element of by an anchor."""
    while isinstance(patch, dict) and len(patch) == 1:
        ((key, patch),) = patch.items()
        if isinstance(patch, list) and len(patch) == 1 and isinstance(patch[0], dict):
            return key if "(name)" in patch[0] else ""
    return ""


def _is_one_path(patch: Json) -> bool:
    """Return whether a patch has nothing but one list."""
    while isinstance(patch, dict) and len(patch) == 1:
        (patch,) = patch.values()
    return isinstance(patch, list)
