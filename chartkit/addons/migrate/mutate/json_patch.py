"""`patchesJson6902` as `JSONPatch{…}` operations.

Kyverno makes what is missing on the way of an `add`, and takes a `remove` of nothing for done; the
new type does neither. Both become conditions. A `replace` of nothing is an error in the old form
alone: it becomes a `remove`, which is one in the new form, and an `add`; so does a `copy`, whose
value is read. Operations within loops become comprehensions over their lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final, TypeAlias

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import PLAIN_TEXTS
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT, UNKNOWN, Place
from chartkit.addons.migrate.expressions.presence import path_of
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath import Names, Value
from chartkit.addons.migrate.jmespath.lists import from_end
from chartkit.addons.migrate.mutate.fields import literal_value, object_type
from chartkit.addons.migrate.mutate.loops import (
    END,
    FIRST,
    LAST,
    Counter,
    Loop,
    Path,
    Step,
    is_index,
    joined,
    shown,
    some,
    steps_of,
)
from chartkit.addons.migrate.texts import term_of
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.mutate.json_patch import patch_problem
from chartkit.engine.context.variables import has_variable
from chartkit.engine.context.variables.syntax import find_variables, split_text
from chartkit.engine.json_patch import MISSING
from chartkit.errors import InputError
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.model import Body, Json, texts_below

_PATCH: Final = "JSONPatch"
_MADE: Final = object()
"""Marks a parent that exists, created by the patch or not."""
_MOVED: Final = object()
"""Marks a value that comes from elsewhere in the object."""

Guarded: TypeAlias = tuple[Expr, Expr]
"""An operation: the condition under which it is done, and the operation."""


def json_patch(text: str, whole: Place, names: Names, loops: Sequence[Loop] = ()) -> Expr:
    """Return the operations of a patch of an object, done for each element of the innermost loop,
    as a list; raises `NotConvertible`."""
    text, written = _set_apart(text)
    value = _parsed(text)
    marks = [each for each in _texts(value) if any(mark in each for mark in written)]
    is_plain = any(f'"{mark}"' not in text and f"'{mark}'" not in text for mark in marks)
    if is_plain:
        names.note(PLAIN_TEXTS)
    operations = Operations(whole, names, loops, is_plain=is_plain)
    whole_text = json.dumps(value)
    for mark, variable in reversed(list(written.items())):
        whole_text = whole_text.replace(mark, json.dumps(variable)[1:-1])
    for operation in json.loads(whole_text):
        operations.add(operation)
    return operations.expression()


def _set_apart(text: str) -> tuple[str, dict[str, str]]:
    """Return a patch with marks in place of its variables, whose quotes and braces are none of
    YAML, and the variables by their marks, the innermost first."""
    written: dict[str, str] = {}
    while variables := find_variables(text):
        parts = split_text(text, variables)
        marks = [f"__patch_{len(written) + at}__" for at in range(len(variables))]
        written |= {
            mark: text[span.start : span.end] for mark, span in zip(marks, variables, strict=True)
        }
        text = "".join(map(str.__add__, parts, [*marks, ""]))
    return text, written


def _parsed(text: str) -> list[Body]:
    """Return the operations of a patch as written; raises `NotConvertible`."""
    try:
        # What begins as a list of JSON is not YAML for Kyverno.
        value = parse_json(text) if text.startswith("[") else parse_yaml(text)
    except (InputError, JsonError) as error:
        raise NotConvertible(f"the patch cannot be read: {error}") from None
    problem = patch_problem(value)
    if problem or not value:
        raise NotConvertible(f"the patch is malformed: {problem or 'it is empty'}")
    return list(value)


def _texts(value: Json) -> list[str]:
    """Return the texts in a value, without the paths of operations."""
    return [text for path, text in texts_below(value) if not {"path", "from"} & set(path)]


class Operations:
    """The operations of a patch in their order.

    Each knows what those before it made and removed: `changed` has the values that paths have come
    to have, and `shifted` the lists whose elements have other numbers than in the object.
    """

    def __init__(
        self, whole: Place, names: Names, loops: Sequence[Loop], *, is_plain: bool = False
    ) -> None:
        """is_plain: whether variables stand outside of quotes: what they give is read as YAML."""
        self._whole = whole
        self._is_plain = is_plain
        self._names = names
        self._loops = tuple(loops)
        self._steps: list[dict[Guarded, None]] = [{} for _ in range(len(loops) + 1)]
        self._lists: dict[str, Expr] = {}
        self._changed: dict[Path, object] = {}
        self._shifted: set[Path] = set()
        self._ordered_from = len(loops)

    def add(self, operation: Body) -> None:
        """Add an operation, after the operations that make its parents."""
        name = operation["op"]
        if name not in _HANDLERS:
            raise NotConvertible(f"the operation {name} of a JSON patch")
        path = operation["path"]
        if name == "add" and path.endswith(f"/{LAST}"):
            path = path.removesuffix(LAST) + END
        steps = self._steps_of(path)
        _HANDLERS[name](self, steps, operation)

    def _steps_of(self, path: str) -> Path:
        return steps_of(path, [loop.counter for loop in self._loops], self._names)

    def expression(self) -> Expr:
        """Return the operations as a list."""
        patch = self._around(0)
        for name, elements in reversed(self._lists.items()):
            patch = cel.bind(name, elements, patch)
        return patch

    def _around(self, level: int) -> Expr:
        """Return what is done within the first loops."""
        guarded = list(self._steps[level])
        if level == len(self._loops):
            return _in_order(guarded)
        inner = self._loop(level)
        if not guarded:
            return inner
        # What every element needs is made once.
        needed = some(self._loops[level:])
        guarded = [(conjunction(condition, needed), made) for condition, made in guarded]
        return cel.concat(_in_order(guarded), inner)

    def _loop(self, level: int) -> Expr:
        loop = self._loops[level]
        guarded = list(self._steps[level + 1])
        is_innermost = level + 1 == len(self._loops)
        conditions = {condition for condition, _ in guarded}
        if is_innermost and len(conditions) == 1:
            # The loop is over those elements alone that are changed.
            loop = loop.where(*conditions)
            operations = [operation for _, operation in guarded]
            is_single = len(operations) == 1
            body = operations[0] if is_single else cel.list_of(operations)
        else:
            body, is_single = self._around(level + 1), False
        made = loop.mapped(body)
        if loop.is_descending and level >= self._ordered_from:
            made = cel.method(made, "reverse")
        return made if is_single else cel.method(made, "flatten")

    def _emit(self, level: int, name: str, path: Path, value: Expr | None, when: Expr) -> None:
        fields = {"op": cel.literal(name), "path": joined(path)}
        if value is not None:
            fields["value"] = value
        self._steps[level][when, cel.struct(_PATCH, fields)] = None

    def _do(self, name: str, path: Path, value: Expr | None = None, when: Expr = cel.TRUE) -> None:
        """Add an operation that is done for each element."""
        self._emit(len(self._loops), name, path, value, when)
        self._ordered_from = min(self._ordered_from, _level(path))

    def _change(self, path: Path, value: object) -> None:
        """Note what a path has come to have; MISSING for nothing."""
        *above, last = path
        if isinstance(last, Counter) or last == END or is_index(last):
            self._shifted.add(tuple(above))
            return
        for below in list(self._changed):
            if below[: len(path)] == path:
                del self._changed[below]
        self._changed[path] = value

    def _present(self, path: Path, place: Place) -> Expr:
        """Report whether there is a value at a path, after the operations so far."""
        for end in range(len(path), 0, -1):
            value: object = self._changed.get(path[:end], _MADE)
            if path[:end] not in self._changed or (value is _MADE and end < len(path)):
                continue
            if value is _MOVED and end < len(path):
                raise NotConvertible(f"an operation on what is moved to {shown(path[:end])}")
            for step in path[end:]:
                value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
            return cel.literal(value is not MISSING)
        return cel.TRUE if path_of(place.value) in self._names.known else place.is_present()

    def _parent(self, steps: Sequence[Step], *, making: bool) -> tuple[Path, Place]:
        """Return the path and the place of what holds the end of a path; making: whether what is
        missing on the way is made."""
        place, path = self._whole, Path()
        for step, following in pairwise(steps):
            if path in self._shifted and (isinstance(step, Counter) or is_index(step)):
                raise NotConvertible(f"elements of {shown(path)} whose numbers change")
            if step == LAST and making:
                path, place = self._last(path, place, following)
                continue
            place = self._below(path, place, step)
            path = (*path, step)
            if following in (END, LAST) or is_index(following):
                place = place.taken_for(ANY_LIST)
            # A loop over a list has elements where there is one.
            is_there = isinstance(following, Counter)
            present = cel.TRUE if is_there else self._present(path, place)
            if making and present != cel.TRUE:
                is_first = following == FIRST and len(path) == len(steps) - 1
                if is_index(step) or (is_index(following) and not is_first):
                    raise NotConvertible(f"an element of {shown(path)}, which may be absent")
                level = min(_level(path), len(self._loops))
                self._emit(level, "add", path, _empty(following), cel.negate(present))
            if making and path not in self._changed:
                self._changed[path] = _MADE
        return path, place

    def _below(self, path: Path, place: Place, step: Step) -> Place:
        """Return the place of a member of an object, or of an element of a list."""
        if isinstance(step, Counter):
            return step.element(path, place)
        if isinstance(step, Expr):
            place = place.taken_for(ANY_MAP)
            if not place.type.startswith("{}"):
                raise NotConvertible(f"a variable key of {shown(path)}, which is not a map")
            return place.entry(step)
        if step == LAST and place.is_list:
            return from_end(place, -1)
        if step in (END, LAST):
            raise NotConvertible(f"the path {shown((*path, step))} counts from the end of a list")
        if not is_index(step) or place.is_map:
            return place.taken_for(ANY_MAP).child(step)
        if not place.is_list:
            raise NotConvertible(f"the element {shown((*path, step))}, which may be absent")
        if step == FIRST and not place.is_optional:
            # A list that is required has an element: the API server refuses an empty one.
            return replace(place.at(0), root=cel.path(place.value, 0), optional=())
        return place.at(int(step))

    def _last(self, path: Path, place: Place, following: Step) -> tuple[Path, Place]:
        """Return the path to the last element of a list and its place; it is made where there is
        none."""
        name = place.path.rpartition(".")[2]
        taken = self._loops or name in self._lists or path in self._shifted
        if not place.is_list or is_index(following) or taken:
            raise NotConvertible(f"the last element of {shown(path)}, which might not be a list")
        self._lists[name] = place.or_value([])
        place = replace(place, root=cel.ident(name), optional=(), given=cel.TRUE)
        size = cel.method(place.value, "size")
        is_empty = cel.equal(size, 0)
        self._emit(0, "add", (*path, END), _empty(following), is_empty)
        last = cel.call("string", cel.compare("-", size, 1))
        return (*path, cel.conditional(is_empty, "0", last)), from_end(place, -1)

    def _add(self, steps: Sequence[Step], operation: Body) -> None:
        path, place = self.target(steps)
        if _level(path) < len(self._loops) and isinstance(steps[-1], Counter):
            raise NotConvertible("elements added to a list within a loop over another")
        self._do(
            "add", path, _value(operation["value"], place, self._names, is_plain=self._is_plain)
        )
        self._change(path, operation["value"])

    def target(self, steps: Sequence[Step]) -> tuple[Path, Place]:
        """Return the path and the place of a value to be written, whose parents are made."""
        above, place = self._parent(steps, making=True)
        last = steps[-1]
        is_new = last == END or (last == FIRST and place.is_list)
        inside = place.element("element") if is_new else self._below(above, place, last)
        return (*above, last), inside

    def put(self, steps: Sequence[Step], value: Expr, *, if_absent: bool) -> None:
        """Write a value; if_absent: only where there is none."""
        path, place = self.target(steps)
        when = cel.negate(self._present(path, place)) if if_absent else cel.TRUE
        if when != cel.FALSE:
            self._do("add", path, value, when)
        self._change(path, _MADE if if_absent else _MOVED)

    def guarded(self, name: str, path: Path, when: Expr, value: Expr | None = None) -> None:
        """Add an operation that is done where something holds."""
        self._require_own(path, name)
        self._do(name, path, value, when)
        self._change(path, _MOVED)

    def _require_own(self, path: Path, name: str) -> None:
        """Raise `NotConvertible` for a path outside of the element, that a second one would find
        changed."""
        others = self._loops[_level(path) :]
        if name != "add" and not all(any(map(loop.tells_apart, path)) for loop in others):
            raise NotConvertible(f"a foreach with {name} of something else than its element has")

    def _remove(self, steps: Sequence[Step], _operation: Body) -> None:
        if isinstance(steps[-1], Counter) and (
            not self._loops[-1].is_descending or steps[-1] != self._loops[-1].counter
        ):
            raise NotConvertible(
                "elements removed in ascending order, which changes the numbers of those after "
                "them: order: Descending removes all of them"
            )
        self.remove(steps)

    def remove(self, steps: Sequence[Step]) -> None:
        """Remove what is there."""
        path, place = self._end(steps)
        if not isinstance(steps[-1], Counter):
            self._require_own(path, "remove")
        present = self._present(path, place)
        if present != cel.FALSE:
            self._do("remove", path, when=present)
        self._change(path, MISSING)

    def _replace(self, steps: Sequence[Step], operation: Body) -> None:
        path, place = self._end(steps)
        value = _value(operation["value"], place, self._names, is_plain=self._is_plain)
        present = self._present(path, place)
        if present != cel.TRUE and not (isinstance(steps[-1], str) and is_index(steps[-1])):
            self._require_own(path, "replace")
            # It is an error where there is nothing to replace.
            self._do("remove", path)
            self._do("add", path, value)
        else:
            self._do("replace", path, value)
        if not is_index(steps[-1]) and not isinstance(steps[-1], Counter):
            self._change(path, operation["value"])

    def _copy(self, steps: Sequence[Step], operation: Body) -> None:
        path, _ = self._end(steps)
        _, source = self._source(operation)
        self._do("add", path, source.value)
        self._change(path, _MOVED)

    def _move(self, steps: Sequence[Step], operation: Body) -> None:
        path, _ = self._end(steps)
        source, _ = self._source(operation)
        if self._loops:
            raise NotConvertible("the operation move in a foreach")
        fields = {"op": "move", "from": joined(source), "path": joined(path)}
        self._steps[0][cel.TRUE, cel.struct(_PATCH, fields)] = None
        self._change(source, MISSING)
        self._change(path, _MOVED)

    def _source(self, operation: Body) -> tuple[Path, Place]:
        """Return what is moved or copied; raises `NotConvertible` where it has changed."""
        path, place = self._end(self._steps_of(operation["from"]))
        if any(path[: len(changed)] == changed[: len(path)] for changed in self._changed):
            raise NotConvertible(f"{shown(path)} is changed and copied")
        return path, place

    def _end(self, steps: Sequence[Step]) -> tuple[Path, Place]:
        """Return the path to what is there, and its place."""
        above, place = self._parent(steps, making=False)
        path = (*above, steps[-1])
        if above in self._shifted:
            raise NotConvertible(f"elements of {shown(above)} whose numbers change")
        return path, self._below(above, place, steps[-1])


_HANDLERS: Final[dict[str, Callable[[Operations, Sequence[Step], Body], None]]] = {
    "add": Operations._add,
    "remove": Operations._remove,
    "replace": Operations._replace,
    "copy": Operations._copy,
    "move": Operations._move,
}


def _level(path: Path) -> int:
    """Return the number of loops whose elements a path leads into."""
    return sum(isinstance(step, Counter) for step in path[:-1])


def _in_order(steps: Sequence[Guarded]) -> Expr:
    """Return a list of operations, each where its condition holds."""
    if not steps:
        raise NotConvertible("a patch that changes nothing")
    terms: list[Expr] = []
    for condition, group in groupby(steps, key=itemgetter(0)):
        operations = cel.list_of([operation for _, operation in group])
        if condition != cel.TRUE:
            operations = cel.conditional(condition, operations, cel.list_of([]))
        terms.append(operations)
    return cel.concat(*terms)


def _empty(following: Step) -> Expr:
    """Return what is made for a step of a path to follow."""
    return cel.literal([] if following in (END, FIRST, LAST) else {})


def _value(value: Json, place: Place, names: Names, *, is_plain: bool) -> Expr:
    """Return a value that is written at a place; raises `NotConvertible`."""
    _check_texts(value, names)
    is_text = isinstance(value, str) and place.type in (TEXT, UNKNOWN)
    if is_plain and not is_text and any(map(has_variable, _texts(value))):
        raise NotConvertible("a variable in a patch that is not in quotes")
    # Kyverno's webhook breaks off at an object in a list or a map (kyverno/kyverno#17611).
    type_name = object_type(place.path) if isinstance(value, dict) else ""
    return literal_value(value, place, names, type_name)


def _check_texts(value: Json, names: Names) -> None:
    """Raise `NotConvertible` for a variable that is not a string: it becomes a part of the
    patch's."""
    for text in _texts(value):
        term = term_of(text, names)
        if not isinstance(term, Value):
            continue
        place = term.place.taken_for(TEXT) if term.place.path else term.place
        if place.type != TEXT:
            raise NotConvertible("a variable in a patch that might not be a string")
