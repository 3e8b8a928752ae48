"""`patchesJson6902` as `JSONPatch{…}` operations.

Kyverno makes what is missing on the way of an `add`, and takes a `remove` of nothing for done; the
new type does neither. Both become conditions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.mutate.json_patch import patch_problem
from chartkit.engine.json_patch.json_document import decode
from chartkit.errors import InputError
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.jmespath import Names
from chartkit.migration.mutate.literals import literal_value, object_type
from chartkit.migration.place import Place
from chartkit.model import Body, Json

_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_END: Final = "-"
_PATCH: Final = "JSONPatch"


def json_patch(text: str, whole: Place, names: Names) -> Expr:
    """Return the operations of a patch as a list; raises `NotConvertible`."""
    groups = [_operation(each, whole, names) for each in operations_of(text)]
    _check_independent(operations_of(text))
    made: set[str] = set()
    terms: list[Expr] = []
    plain: list[Expr] = []
    for parents, condition, operation in groups:
        for path, absent, parent in parents:
            if path not in made:
                made.add(path)
                terms += [cel.list_of(plain)] if plain else []
                plain = []
                terms.append(_where(absent, parent))
        if condition == cel.TRUE:
            plain.append(operation)
            continue
        terms += [cel.list_of(plain)] if plain else []
        plain = []
        terms.append(_where(condition, operation))
    terms += [cel.list_of(plain)] if plain else []
    return cel.concat(*terms)


def operations_of(text: str) -> list[Body]:
    """Return the operations of a patch as written, variables and all; raises `NotConvertible`."""
    try:
        value = parse_yaml(text)
    except InputError as error:
        raise NotConvertible(f"the patch is no YAML: {error.message}") from None
    problem = patch_problem(value)
    if problem or not isinstance(value, list):
        raise NotConvertible(f"the patch is malformed: {problem}", "mutate/patchesJson6902")
    return value


_Parents = list[tuple[str, Expr, Expr]]


def _where(condition: Expr, operation: Expr) -> Expr:
    return cel.conditional(condition, cel.list_of([operation]), cel.list_of([]))


def _operation(operation: Body, whole: Place, names: Names) -> tuple[_Parents, Expr, Expr]:
    """Return an operation with those that make its parents, and the condition under which it is
    done."""
    name, path = operation["op"], operation["path"]
    if "{{" in path or not path.startswith("/"):
        raise NotConvertible("a path of a patch with variables, or of the whole object")
    steps = [decode(part) for part in path.split("/")[1:]]
    parents, place = _parents(steps, whole)
    if name == "add":
        value = _value(operation["value"], place, steps[-1], names)
        return parents, cel.TRUE, _patch(name, path, value)
    if steps[-1] == _END or _is_index(steps[-1]):
        raise NotConvertible(f"{name} of an element of a list, {path}")
    last = place.child(steps[-1])
    if name == "remove":
        return [], last.is_present(), _patch(name, path)
    if name == "replace" and not last.is_optional:
        return [], cel.TRUE, _patch(name, path, _value(operation["value"], place, steps[-1], names))
    if name == "replace":
        raise NotConvertible(f"replace of {path}, which is an error where it is absent")
    raise NotConvertible(f"the operation {name} of a JSON patch")


def _parents(steps: Sequence[str], whole: Place) -> tuple[_Parents, Place]:
    """Return the operations that make what is missing on the way, and the last parent's place."""
    place, made, path = whole, [], ""
    for step, following in pairwise(steps):
        path += "/" + step.replace("~", "~0").replace("/", "~1")
        if _is_index(step):
            if not place.is_list or place.is_optional or step != "0":
                raise NotConvertible(f"the element {path}, which may be absent")
            # A list that is required has an element: the API server refuses an empty one.
            place = Place(cel.path(place.value, 0), (), place.type.removeprefix("[]"), place.path)
            continue
        if step == _END or step.startswith("-"):
            raise NotConvertible(f"the path {path} counts from the end of a list")
        place = place.child(step)
        if place.is_optional:
            empty: Json = [] if following == _END else {}
            if _is_index(following):
                raise NotConvertible(f"an element of {path}, which may be absent")
            made.append(
                (path, cel.negate(place.is_present()), _patch("add", path, cel.literal(empty)))
            )
    return made, place


def _value(value: Json, parent: Place, key: str, names: Names) -> Expr:
    is_element = key == _END or _is_index(key)
    place = parent.element("element") if is_element else parent.child(key)
    return literal_value(value, place, names, object_type(place.path))


def _is_index(step: str) -> bool:
    return _INDEX.fullmatch(step) is not None


def _patch(name: str, path: str, value: Expr | None = None) -> Expr:
    fields: dict[str, Expr] = {"op": cel.literal(name), "path": cel.literal(path)}
    if value is not None:
        fields["value"] = value
    return cel.struct(_PATCH, fields)


def _check_independent(operations: Sequence[Body]) -> None:
    """Raise `NotConvertible` where an operation looks at what one before it changed."""
    for index, one in enumerate(operations):
        for other in operations[index + 1 :]:
            first, second = f"{one['path']}/", f"{other['path']}/"
            same = first == second and one["path"].endswith(f"/{_END}")
            if not same and (first.startswith(second) or second.startswith(first)):
                raise NotConvertible(f"several operations on {other['path']}")
