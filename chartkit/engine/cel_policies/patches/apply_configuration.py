"""Apply configurations: an `Object{…}` merged into an object as a server-side apply merges it.

Objects and maps are merged field by field, lists with keys element by element, sets joined; what
the schema calls atomic is refused. Messages are those of Kubernetes' structured-merge-diff.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import Struct, Value
from chartkit.engine.cel_policies.patches.apply_values import (
    ListSort,
    Native,
    Place,
    Scalar,
    Sort,
    go_syntax,
    go_text,
    go_type,
    place_of_kind,
    resolve,
)
from chartkit.engine.cel_policies.patches.written import Written
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json

_NO_OBJECT: Final = (
    "error applying patch: failed to convert patch object to typed object: no corresponding type "
    "for /, Kind="
)
"""The error for a deletion, which has no object to be patched."""


class ApplyError(CelError):
    """A mutation that cannot be applied; the message is Kubernetes' own."""


def apply_configuration(
    value: Struct, resource: Body, written: Written, allow_atomic: bool = False
) -> Body:
    """A new object: the resource with the configuration merged into it; raises `ApplyError`.

    written: the expression of the configuration; allow_atomic: replaces lists and maps that are
    merged as a whole, instead of refusing them.
    """
    problems = list(name_faults(value, value.type.name))
    if problems:
        raise ApplyError("type mismatch: " + "\n".join(problems))
    if not resource:
        raise ApplyError(_NO_OBJECT)
    kind: Body = {key: resource[key] for key in ("apiVersion", "kind") if key in resource}
    patch = {**written.object(value), **kind}
    place = place_of_kind(str(resource.get("apiVersion")), str(resource.get("kind")))
    _check("patch", place, patch, duplicates=False)
    if not allow_atomic:
        atomic = ", ".join(_atomics(place, patch, ""))
        if atomic:
            refused = f"may not mutate atomic arrays, maps or structs: {atomic}"
            raise ApplyError(f"error applying patch: invalid ApplyConfiguration: {refused}")
    _check("original", place, resource, duplicates=True)
    merged = _merge(place, resource, patch)
    assert isinstance(merged, dict)
    return merged


def name_faults(value: Value, expected: str) -> Iterator[str]:
    """Return the faults of `Object…` types whose name is not their place in the object."""
    if isinstance(value, Struct):
        if value.type.name != expected:
            yield (
                f'unexpected type name "{value.type.name}", expected "{expected}", '
                "which matches field name path from root Object type"
            )
        for name, member in value.fields.items():
            yield from name_faults(member, f"{expected}.{name}")
    elif isinstance(value, list):
        for member in value:
            yield from name_faults(member, expected)
    elif isinstance(value, dict):
        for member in value.values():
            yield from name_faults(member, expected)


# Is it what the schema says?


def _check(what: str, place: Place, value: Json, duplicates: bool) -> None:
    problems = list(_faults(place, value, "", duplicates))
    if not problems:
        return
    text = problems[0] if len(problems) == 1 else "\n  ".join(["errors:", *problems])
    message = f"failed to convert {what} object to typed object: {text}"
    raise ApplyError(f"error applying patch: {message}")


def _faults(place: Place, value: Json, path: str, duplicates: bool) -> Iterator[str]:
    if value is None:
        return
    sort = _fitting(resolve(place), value)
    if sort.map is not None:
        if not isinstance(value, dict):
            yield from _told(path, f"expected map, got {_shown(value)}")
            return
        for name, member in value.items():
            place = sort.map.place(name)
            if place is None:
                yield f"{path}.{name}: field not declared in schema"
                return
            if not isinstance(member, str) or resolve(place).scalar is not Scalar.STRING:
                yield from _faults(place, member, f"{path}.{name}", duplicates)
    elif sort.scalar is not None:
        yield from _told(path, _scalar_fault(sort.scalar, value))
    elif sort.list is not None:
        yield from _list_faults(sort.list, value, path, duplicates)


def _fitting(sort: Sort, value: Json) -> Sort:
    """The one sort that a value is of, where it may be several."""
    if isinstance(value, dict):
        return Sort(map=sort.map) if sort.map and (sort.scalar or sort.list) else sort
    if isinstance(value, list):
        return Sort(list=sort.list) if sort.list and (sort.scalar or sort.map) else sort
    if value is not None and sort.scalar and not isinstance(value, Native):
        return Sort(sort.scalar) if sort.list or sort.map else sort
    return sort


def _told(path: str, fault: str | None) -> Iterator[str]:
    if fault is not None:
        yield f"{path}: {fault}" if path else fault


def _list_faults(sort: ListSort, value: Json, path: str, duplicates: bool) -> Iterator[str]:
    if not isinstance(value, list):
        yield from _told(path, f"expected list, got {_shown(value)}")
        return
    seen: set[str] = set()
    for index, member in enumerate(value):
        step = f"[{index}]"
        if sort.keys is not None:
            try:
                step = _step(sort, member)
            except _NoKeyError as error:
                yield from _told(path, f"element {index}: {error}")
                return
            if step in seen and not duplicates:
                yield from _told(path, f"duplicate entries for key {step}")
            seen.add(step)
        yield from _faults(sort.elements, member, path + step, duplicates)


def _scalar_fault(scalar: Scalar, value: Json) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if scalar is Scalar.NUMBER:
        return None if is_number else f"expected numeric (int or float), got {go_type(value)}"
    if scalar is Scalar.STRING:
        shown = f"&value.valueUnstructured{{Value:{go_syntax(value)}}}"
        return None if isinstance(value, str) else f"expected string, got {shown}"
    if scalar is Scalar.BOOLEAN:
        return None if isinstance(value, bool) else f"expected boolean, got {_shown(value)}"
    if is_number or isinstance(value, str | bool):
        return None
    return f"expected any scalar, got {_shown(value)}"


def _shown(value: Json) -> str:
    return f"&{{{go_text(value)}}}"


class _NoKeyError(ValueError):
    """An element of a list without a key that identifies it."""


def _step(sort: ListSort, element: Json) -> str:
    """Return the key of an element in a path; raises `_NoKeyError`."""
    if not sort.keys:
        if isinstance(element, dict):
            raise _NoKeyError("associative list without keys has an element that's a map type")
        if isinstance(element, list):
            raise _NoKeyError("not supported: associative list with lists as elements")
        if element is None:
            raise _NoKeyError(
                "associative list without keys has an element that's an explicit null"
            )
        return f"[={_key_text(element)}]"
    if element is None:
        raise _NoKeyError("associative list with keys may not have a null element")
    if not isinstance(element, dict):
        raise _NoKeyError("associative list with keys may not have non-map elements")
    elements = resolve(sort.elements).map
    defaults = elements.defaults if elements is not None else {}
    values = {key: element.get(key, defaults.get(key)) for key in sort.keys}
    parts = [
        f"{key}={_key_text(values[key])}"
        for key in sorted(values)
        if key in element or key in defaults
    ]
    if not parts:
        keys = " ".join(f'"{key}"' for key in sort.keys)
        raise _NoKeyError(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"[{','.join(parts)}]"


def _key_text(value: Json) -> str:
    return go_text(value) if isinstance(value, Native) else go_json(value)


# What is merged as a whole, and may not be touched.


def _atomics(place: Place, value: Json, path: str) -> Iterator[str]:
    sort = resolve(place)
    if isinstance(value, dict) and sort.map is not None:
        if sort.map.atomic:
            yield path
        for name, member in value.items():
            if name in sort.map.fields:
                yield from _atomics(sort.map.fields[name], member, f"{path}.{name}")
    elif isinstance(value, list) and sort.list is not None:
        if sort.list.keys is None:
            yield path
        for index, member in enumerate(value):
            yield from _atomics(sort.list.elements, member, f"{path}[{index}]")


# Merging.


def _merge(place: Place, old: Json, new: Json) -> Json:
    """The merged value of a place that both objects have."""
    sort = _fitting(resolve(place), old if new is None else new)
    if sort.map is not None and isinstance(old, dict | None) and isinstance(new, dict | None):
        if sort.map.atomic or not (old or new):
            return new
        if not new or not old:
            return old or new
        merged = dict(old)
        for name, member in new.items():
            merged[name] = (
                _merge(sort.map.place(name), old[name], member) if name in old else member
            )
        return merged
    if sort.list is not None and isinstance(old, list | None) and isinstance(new, list | None):
        list_sort = sort.list
        if list_sort.keys is None or not (old or new):
            return new
        if not new or not old:
            return old or new
        left = [(_step(list_sort, member), member) for member in old]
        right = [(_step(list_sort, member), member) for member in new]
        return _Joined(list_sort, left, right).members()
    return new


_Steps = Sequence[tuple[str, Json]]


class _Joined:
    """Two lists of elements with keys, joined.

    Elements that both have come in the order of the second list, those of the first alone stay
    where they are among them.
    """

    def __init__(self, sort: ListSort, left: _Steps, right: _Steps) -> None:
        self._sort = sort
        self._left, self._right = left, right
        self._wanted = dict(right)
        counts = Counter(step for step, _ in left)
        # Of elements with one key in the first list none is merged: the new one replaces them.
        self._known = {step: member for step, member in left if counts[step] == 1}
        self._shared = deque(step for step, _ in right if step in counts)
        self._done: set[str] = set()
        self._made: list[Json] = []

    def members(self) -> list[Json]:
        at_left = at_right = 0
        while at_left < len(self._left) or at_right < len(self._right):
            if at_left < len(self._left):
                step, member = self._left[at_left]
                if at_right < len(self._right) and self._goes_elsewhere(step, at_right):
                    at_left += 1
                    continue
                if step not in self._wanted:
                    self._made.append(member)
                    at_left += 1
                    continue
                if step in self._done or step == self._step_at(at_right):
                    at_left += 1
            if at_right < len(self._right):
                self._take(*self._right[at_right])
                at_right += 1
        return self._made

    def _step_at(self, at_right: int) -> str | None:
        return self._right[at_right][0] if at_right < len(self._right) else None

    def _goes_elsewhere(self, step: str, at_right: int) -> bool:
        """Report whether both lists have the element, and another is next."""
        if step == self._step_at(at_right) or step not in self._wanted or not self._shared:
            return False
        return step != self._shared[0]

    def _take(self, step: str, member: Json) -> None:
        self._done.add(step)
        earlier = self._known.get(step)
        merged = member if earlier is None else _merge(self._sort.elements, earlier, member)
        self._made.append(merged)
        if self._shared and self._shared[0] == step:
            self._shared.popleft()
