"""`patchesJson6902` as `JSONPatch{…}` operations.

Kyverno makes what is missing on the way of an `add`, and takes a `remove` of nothing for done; the
new type does neither. Both become conditions. A `replace` of nothing is an error in the old form
alone: it becomes a `remove`, which is one in the new form, and an `add`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT, Place
from chartkit.addons.migrate.jmespath import Names, Value
from chartkit.addons.migrate.jmespath.lists import from_end
from chartkit.addons.migrate.mutate.fields import literal_value, object_type
from chartkit.addons.migrate.texts import term_of
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.mutate.json_patch import patch_problem
from chartkit.engine.context.variables.syntax import has_variable
from chartkit.engine.json_patch import decode
from chartkit.errors import InputError
from chartkit.model import Body, Json, pointer_of

_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_END: Final = "-"
_LAST: Final = "-1"
_PATCH: Final = "JSONPatch"

Step = tuple[Expr, Expr]
"""An operation: the condition under which it is done, and the operation."""


@dataclass(frozen=True, slots=True)
class Base:
    """The object that operations patch: a whole one, or an element of a list.

    place: where it is read; path: its own, empty for a whole one; pointer: what a path begins with;
    lists: of whose last elements paths speak, by the names of variables.
    """

    place: Place
    path: str = ""
    pointer: tuple[Expr, ...] = ()
    lists: dict[str, Expr] = field(default_factory=dict)

    def at(self, *path: str | Expr) -> Expr:
        """Return a path below the object as the patch names it, in parts."""
        return cel.concat(*self.pointer, *path)


def json_patch(text: str, whole: Place, names: Names) -> Expr:
    """Return the operations of a patch as a list; raises `NotConvertible`."""
    base = Base(whole)
    patch = in_order(steps_of(text, base, names))
    for name, elements in reversed(base.lists.items()):
        patch = cel.bind(name, elements, patch)
    return patch


def steps_of(text: str, base: Base, names: Names) -> list[Step]:
    """Return the operations of a patch of an object; raises `NotConvertible`."""
    written = operations_of(text)
    for index, one in enumerate(written):
        for other in written[index + 1 :]:
            first, second = f"{one['path']}/", f"{other['path']}/"
            same = first == second and one["path"].endswith(f"/{_END}")
            if not same and (first.startswith(second) or second.startswith(first)):
                raise NotConvertible(f"several operations on {other['path']}")
    steps: dict[Step, None] = {}
    for each in written:
        steps |= dict.fromkeys(_operation(each, base, names))
    return list(steps)


def in_order(steps: Sequence[Step]) -> Expr:
    """Return a list of operations, each where its condition holds."""
    terms: list[Expr] = []
    for condition, group in groupby(steps, key=itemgetter(0)):
        operations = cel.list_of([operation for _, operation in group])
        if condition != cel.TRUE:
            operations = cel.conditional(condition, operations, cel.list_of([]))
        terms.append(operations)
    return cel.concat(*terms)


def operations_of(text: str) -> list[Body]:
    """Return the operations of a patch as written, variables and all; raises `NotConvertible`."""
    try:
        value = parse_yaml(text)
    except InputError as error:
        raise NotConvertible(f"the patch is no YAML: {error.message}") from None
    problem = patch_problem(value)
    if problem or not value:
        raise NotConvertible(f"the patch is malformed: {problem or 'it is empty'}")
    variables = [each for each in _texts(value) if has_variable(each)]
    if any(f'"{variable}"' not in text and f"'{variable}'" not in text for variable in variables):
        raise NotConvertible("a variable in a patch that is not in quotes")
    return list(value)


def _texts(value: Json) -> Iterator[str]:
    """Return the texts in a value, without the paths of operations."""
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            yield from _texts([each for key, each in value.items() if key != "path"])


def _operation(operation: Body, base: Base, names: Names) -> Iterator[Step]:
    """Return an operation behind those that make its parents."""
    name, path = operation["op"], operation["path"]
    if base.path and not path.startswith(base.path):
        raise NotConvertible("a patch of something else than the element of its foreach")
    path = path.removeprefix(base.path)
    if "{{" in path or not path.startswith("/"):
        raise NotConvertible("a path of a patch with variables, or of the whole object")
    if name == "add" and path.endswith(f"/{_LAST}"):
        path = path.removesuffix(_LAST) + _END
    steps = [decode(part) for part in path.split("/")[1:]]
    parents, place, above = _parents(steps, base)
    last = steps[-1]
    if name == "add":
        yield from parents
        value = _value(operation["value"], place, last, names)
        yield cel.TRUE, _patch(name, base.at(*above, pointer_of(last)), value)
        return
    if not all(isinstance(each, str) for each in above):
        raise NotConvertible(f"the path {path} counts from the end of a list")
    if last in (_END, _LAST) or _is_index(last):
        raise NotConvertible(f"{name} of an element of a list, {path}")
    child = place.taken_for(ANY_MAP).child(last)
    if name == "remove":
        yield child.is_present(), _patch(name, base.at(path))
    elif name == "replace":
        if child.is_optional:
            # It is an error where there is nothing to replace.
            yield cel.TRUE, _patch("remove", base.at(path))
            name = "add"
        yield cel.TRUE, _patch(name, base.at(path), _value(operation["value"], place, last, names))
    else:
        raise NotConvertible(f"the operation {name} of a JSON patch")


def _parents(steps: Sequence[str], base: Base) -> tuple[list[Step], Place, tuple[str | Expr, ...]]:
    """Return the operations that make what is missing on the way, the last parent's place, and the
    path to it in parts."""
    place = base.place
    made: list[Step] = []
    path: tuple[str | Expr, ...] = ("",)
    for step, following in pairwise(steps):
        if step == _LAST:
            path, place, making = _last(path, place, following, base)
            made.append(making)
            continue
        path = (*path, pointer_of(step))
        if _is_index(step):
            if not place.is_list or place.is_optional or step != "0":
                raise NotConvertible(f"the element {_shown(path)}, which may be absent")
            # A list that is required has an element: the API server refuses an empty one.
            inner = place.type.removeprefix("[]")
            place = Place(cel.path(place.value, 0), (), inner, f"{place.path}[]")
            continue
        if step == _END:
            raise NotConvertible(f"the path {_shown(path)} counts from the end of a list")
        place = place.taken_for(ANY_MAP).child(step)
        if following in (_END, _LAST):
            place = place.taken_for(ANY_LIST)
        if place.is_optional:
            if _is_index(following):
                raise NotConvertible(f"an element of {_shown(path)}, which may be absent")
            absent = cel.negate(place.is_present())
            made.append((absent, _patch("add", base.at(*path), _empty(following))))
    return made, place, path


def _last(
    path: tuple[str | Expr, ...], place: Place, following: str, base: Base
) -> tuple[tuple[str | Expr, ...], Place, Step]:
    """Return the path to the last element of a list and its place, and the operation that makes it
    where there is none."""
    name = place.path.rpartition(".")[2]
    if not place.is_list or _is_index(following) or base.path or name in base.lists:
        raise NotConvertible(f"the last element of {_shown(path)}, which may be no list")
    base.lists[name] = place.or_value([])
    place = replace(place, root=cel.ident(name), optional=(), given=cel.TRUE)
    size = cel.method(place.value, "size")
    is_empty = cel.equal(size, 0)
    making = is_empty, _patch("add", base.at(*path, "/-"), _empty(following))
    last = cel.call("string", cel.compare("-", size, 1))
    index = cel.conditional(is_empty, "0", last)
    return (*path, "/", index), from_end(place, -1), making


def _empty(following: str) -> Expr:
    """Return what is made for a step of a path to follow."""
    return cel.literal([] if following in (_END, _LAST) else {})


def _shown(path: Sequence[str | Expr]) -> str:
    return "".join(each if isinstance(each, str) else _LAST for each in path)


def _value(value: Json, parent: Place, key: str, names: Names) -> Expr:
    is_element = key == _END or _is_index(key)
    place = parent.element("element") if is_element else parent.taken_for(ANY_MAP).child(key)
    _check_texts(value, names)
    # Kyverno's webhook breaks off at an object in a list or a map (kyverno/kyverno#17611).
    type_name = object_type(place.path) if isinstance(value, dict) else ""
    return literal_value(value, place, names, type_name)


def _check_texts(value: Json, names: Names) -> None:
    """Raise `NotConvertible` for a variable that is no text: it becomes a part of the patch's."""
    for text in _texts(value):
        found = term_of(text, names)
        if not isinstance(found, Value):
            continue
        place = found.place.taken_for(TEXT) if found.place.path else found.place
        if place.type != TEXT:
            raise NotConvertible("a variable in a patch that may be no text")


def _is_index(step: str) -> bool:
    return _INDEX.fullmatch(step) is not None


def _patch(name: str, path: Expr, value: Expr | None = None) -> Expr:
    fields: dict[str, Expr] = {"op": cel.literal(name), "path": path}
    if value is not None:
        fields["value"] = value
    return cel.struct(_PATCH, fields)
