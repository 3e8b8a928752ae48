"""`foreach` of mutate rules: a patch of each element of a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath import Names, Stream, Translator, Value, stream_of
from chartkit.addons.migrate.matching.scope import Scope
from chartkit.addons.migrate.mutate.fields import Mutation, object_field
from chartkit.addons.migrate.mutate.json_patch import Base, in_order, steps_of
from chartkit.addons.migrate.mutate.merge import Loop, StrategicMerge
from chartkit.addons.migrate.rule import with_entries
from chartkit.engine.cel.syntax import Expr
from chartkit.model import Body, Json

_SEVERAL: Final = re.compile(r"(request\.object(?:\.\w+)*)\.\[([\w, ]+)\]\s*\[\]")
_MERGE: Final = "patchStrategicMerge"
_JSON_PATCH: Final = "patchesJson6902"
_INDEX: Final = "index"
_ELEMENT_INDEX: Final = "{{elementIndex}}"
_SPACED_INDEX: Final = re.compile(r"\{\{\s*elementIndex0?\s*\}\}")


def loop_mutations(
    loops: Sequence[Body], scope: Scope, names: Names, namespace: str
) -> list[Mutation]:
    """Return the mutations of loops, one each; raises `NotConvertible`.

    namespace: that of a policy of a namespace, else empty.
    """
    return [
        _loop(loop, scope, names, namespace, f"mutate/foreach/{at}")
        for at, loop in enumerate(loops)
    ]


def _in_place(_name: str, expression: Expr) -> Expr:
    """Return what stands for an entry of a loop's context: its expression."""
    return expression


def _loop(body: Body, scope: Scope, names: Names, namespace: str, path: str) -> Mutation:
    if body.get("foreach"):
        raise NotConvertible("a foreach in a foreach", f"{path}/foreach")
    if body.get(_MERGE) is not None:
        return _merges(body, scope, names, namespace, path)
    if body.get(_JSON_PATCH):
        return Mutation(_patches(body, names, namespace, path), is_json_patch=True)
    raise NotConvertible("a foreach without a patch", path)


def _merges(body: Body, scope: Scope, names: Names, namespace: str, path: str) -> Mutation:
    """Return the mutation of a loop with strategic merges."""
    patch = body[_MERGE]
    if body.get("order") == "Ascending":
        raise NotConvertible("a foreach in ascending order turns lists round", f"{path}/order")
    stream, is_strict = _elements(str(body.get("list") or "").strip(), patch, names)
    (generator,) = stream.generators
    inner = names.without(generator.variable).with_others(element=Value(stream.item))
    inner = with_entries(body.get("context"), inner, namespace, _in_place)
    where = generator.where
    if body.get("preconditions") is not None:
        where = conjunction(where, conditions_hold(body["preconditions"], inner))
    loop = Loop(generator.elements, generator.variable, where, is_strict)
    merge = StrategicMerge(inner, loop)
    made = merge.configuration(patch, object_field(scope, scope.object))
    if not merge.patches_loop or not _is_one_path(patch):
        raise NotConvertible("a foreach that patches something else than its element", path)
    return Mutation(made, conditions=tuple(merge.conditions), replaces=merge.replaces)


def _patches(body: Body, names: Names, namespace: str, path: str) -> Expr:
    """Return the operations of a loop with JSON patches.

    They are below the elements, so that those of one do not meet those of another and the order of
    the loop makes no difference.
    """
    translator = Translator(names)
    found = translator.text(str(body.get("list") or "").strip())
    stream = stream_of(found, names)
    (generator,) = stream.generators
    variable = generator.variable
    if generator.where != cel.TRUE or stream.item.value != cel.ident(variable):
        raise NotConvertible("a foreach over values that are computed", f"{path}/list")
    number = Value(Place(cel.ident(_INDEX), (), "int"))
    inner = names.without(variable).without(_INDEX)
    inner = inner.with_others(element=Value(stream.item), elementIndex=number)
    inner = with_entries(body.get("context"), inner, namespace, _in_place)
    pointer = generator.elements.path.replace(".", "/")
    index = cel.call("string", cel.ident(_INDEX))
    base = Base(stream.item, f"/{pointer}/{_ELEMENT_INDEX}", (cel.literal(f"/{pointer}/"), index))
    text = _SPACED_INDEX.sub(_ELEMENT_INDEX, body[_JSON_PATCH])
    steps = steps_of(text, base, inner)
    is_strict = isinstance(found, Value) and found.strict
    elements = generator.elements.value if is_strict else generator.list
    alone = len(steps) == 1 and steps[0][0] == cel.TRUE
    arguments: list[Expr] = [cel.ident(_INDEX), cel.ident(variable)]
    if body.get("preconditions") is not None:
        arguments.append(conditions_hold(body["preconditions"], inner))
    arguments.append(steps[0][1] if alone else in_order(steps))
    made = cel.method(elements, "transformList", *arguments)
    return made if alone else cel.method(made, "flatten")


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
        return stream_of(found, names), False
    found = translator.text(text)
    stream = stream_of(found, names)
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
