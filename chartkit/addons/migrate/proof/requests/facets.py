"""The axes along which requests vary: a place and the values to try there, for one kind."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final

from chartkit.addons.migrate.expressions.place import EVERYTHING, takes_everything
from chartkit.addons.migrate.proof.leaves.leaf import MOST_VALUES, Leaf, in_turns
from chartkit.addons.migrate.proof.leaves.paths import (
    ABSENT,
    AT,
    CLUSTER,
    EACH,
    GLOBAL,
    IMAGE,
    Mixed,
    Path,
    Step,
    path_text,
    renamed,
    values_at,
)
from chartkit.addons.migrate.proof.requests import schema
from chartkit.addons.migrate.proof.requests.cluster import kind_of_key
from chartkit.addons.migrate.proof.requests.storable import KEY
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Body, Json

_OBJECTS: Final = ("object", "oldObject")
_FIXED: Final = frozenset(("apiVersion", "kind"))
_IMAGES: Final = (
    "nginx",
    "nginx:latest",
    "nginx:1.27",
    "ghcr.io/x/app:1.0",
    f"registry.example/app@sha256:{'0' * 64}",
)
_USER: Final[Path] = ("userInfo", "username")
"""Every request has it, and it is not empty."""
_DIGITS: Final = 13
_MOST_ELEMENTS: Final = 6
_OPERATION: Final = "operation"
_LOOKED_UP: Final = "looked up"
_FEW: Final = 4
_LIST_IN_TEXT: Final = "["
_NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
_NAMES: Final[dict[Path, Path]] = {
    ("object", "metadata", "namespace"): ("object", "metadata", "name"),
    ("oldObject", "metadata", "namespace"): ("oldObject", "metadata", "name"),
}
"""The places of a Namespace that lists of namespaces are about."""
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE")
_NONE: Final[Mapping[str, str]] = {}
_USER_INFO: Final = "userInfo"
_FREE_TEXTS: Final = ("annotations", "args", "command", "labels", "resourceNames")
"""The fields whose texts have no wildcards of their own: conditions of a ClusterPolicy take these
for patterns (`differences.OWN_WILDCARDS`). A * in roles and the like means everything."""
_UNTYPED: Final[tuple[Json, ...]] = ("x", 1, True, None, [], {}, ["x"], {"x": "x"})
"""Values of each type, for fields whose type is not known."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A place of a request and the values to try there.

    met: how many of the first values meet what a rule asks for; groups: the rules and expressions
    that look at it; typed: whether the type of the field is known;
    types: else those of the values that policies compare it with; tried: the values as they are
    tried, those that meet and those that do not in turns; mixed: in which lists that it is in one
    element may differ from the others.
    """

    path: Path
    values: tuple[Json, ...]
    met: int
    groups: frozenset[str]
    typed: bool = True
    types: tuple[type, ...] = ()
    tried: Sequence[Json] = field(init=False, compare=False)
    mixed: Sequence[Mixed] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        tried = in_turns([self.values[: self.met], self.values[self.met :]])
        object.__setattr__(self, "tried", tried)
        object.__setattr__(self, "mixed", tuple(Mixed)[: 1 + min(self.path.count(EACH), 2)])

    def texts_of(self, document: Body) -> Iterator[str]:
        """Yield the texts that a request has here."""
        return (value for value in values_at(document, self.path) if isinstance(value, str))

    def takes(self, text: str) -> bool:
        """Report whether it may hold a text, of another place, that is not tried anyway."""
        if text in self.values or self.path[0] == _OPERATION:
            return False
        if _is_wildcard(text) and any(step in _FREE_TEXTS for step in self.path):
            return False
        return any(isinstance(value, str) for value in self.values)

    def state_of(self, value: Json, *, mixed: Mixed = Mixed.NO) -> str:
        """Return the state of a value: met, missed, absent, null, empty, one, many."""
        if value is ABSENT:
            return "absent"
        if value is None:
            return "null"
        if isinstance(value, list | dict):
            return "empty" if not value else "one"
        word = "met" if value in self.values[: self.met] else "missed"
        state = word if self.met else "set"
        return state if mixed is Mixed.NO else f"{state} among many"

    @property
    def states(self) -> frozenset[str]:
        """Return the states that its values have."""
        return frozenset(
            self.state_of(value, mixed=mixed) for value in self.values for mixed in self.mixed
        )


def facets_of(
    leaves: Iterable[Leaf], kind: GroupVersionKind, assumed: Mapping[str, str] = _NONE
) -> tuple[list[Facet], set[Path]]:
    """Return the facets of a kind, one a place, and the places that it does not have; assumed:
    types of fields of custom kinds."""
    by_path: dict[Path, _Merged] = {}
    unknown: set[Path] = set()
    root = schema.root_type(kind)
    for leaf in leaves:
        if kind == _NAMESPACE:
            leaf = replace(leaf, path=_NAMES.get(leaf.path, leaf.path))
        for path, type_name, values, met in _located(leaf, root, unknown):
            if path[0] in _OBJECTS and (len(path) < 2 or path[1] in _FIXED):
                continue
            allowed = schema.allowed_at(root, path[1:]) if path[0] in _OBJECTS else ()
            if type_name == schema.ANY and path[0] in _OBJECTS:
                type_name = assumed.get(path_text(path[1:]), schema.ANY)
            values, met = _with_wildcards(path, values, met)
            merged = by_path.setdefault(path, _Merged(type_name, path, allowed))
            merged.add(values, met, leaf.group)
            if type_name.startswith(schema.LIST):
                # A list that is compared with a text has it among its elements.
                element = (*path, EACH)
                merged = by_path.setdefault(element, _Merged(type_name[2:], element))
                merged.add(tuple(text for text in values if isinstance(text, str)), 0, leaf.group)
    for path in [path for path in by_path if AT in path]:
        merged = by_path.pop(path)
        for whole in _values_of(path, [*by_path]):
            by_path.setdefault(whole, _Merged(merged.type, whole)).take(merged)
    for path in [*by_path]:
        for index, step in enumerate(path):
            if step is EACH and index > 1 and path[:index] not in by_path:
                list_type = by_path[path].list_type(root, path[:index])
                by_path[path[:index]] = _Merged(list_type, path[:index])
    for path in [one for one in by_path if one[0] in _OBJECTS and len(one) > 2]:
        # A map may have other keys than the one that a policy looks at.
        above = schema.normalized(root, path[1:-1])
        if isinstance(path[-1], str) and above is not None and above[1].startswith(schema.MAP):
            by_path.setdefault(path[:-1], _Merged(above[1], path[:-1]))
    by_path.update(_others_of_alternatives(root, by_path))
    return [merged.facet() for merged in by_path.values()], unknown


def _with_wildcards(path: Path, values: tuple[Json, ...], met: int) -> tuple[tuple[Json, ...], int]:
    """Return the values of a place without those that hardly any object has there, and with the
    one that means everything in roles; met: how many of the first meet what a rule asks for."""
    if takes_everything(path_text(path[1:])):
        return (*values, EVERYTHING), met
    if path[0] != _USER_INFO and not any(step in _FREE_TEXTS for step in path):
        return values, met
    kept = tuple(value for value in values if not _is_wildcard(value))
    return kept, met - sum(map(_is_wildcard, values[:met]))


def _is_wildcard(value: Json) -> bool:
    return isinstance(value, str) and "*" in value


def _others_of_alternatives(root: str, paths: Collection[Path]) -> dict[Path, _Merged]:
    """Return the first alternative that no policy names, next to alternatives that some name."""
    others: dict[Path, _Merged] = {}
    for path in paths:
        at = schema.normalized(root, path[1:-1]) if path[0] in _OBJECTS else None
        if at is not None and path[-1] in schema.alternatives(at[1]):
            beside = ((*path[:-1], name) for name in sorted(schema.alternatives(at[1])))
            other = next((alternative for alternative in beside if alternative not in paths), None)
            if other is not None:
                others[other] = _Merged(schema.fields(at[1])[str(other[-1])].type, other)
    return others


def _values_of(path: Path, others: Iterable[Path]) -> Iterator[Path]:
    """Yield a place among the values of a map, one for each key that policies name."""
    at = path.index(AT)
    above, below = path[:at], path[at + 1 :]
    keys = [other[at] for other in others if len(other) > at and other[:at] == above]
    for key in dict.fromkeys((*(key for key in keys if isinstance(key, str)), "x")):
        yield (*above, key, *below)


def _located(
    leaf: Leaf, root: str, unknown: set[Path]
) -> Iterator[tuple[Path, str, tuple[Json, ...], int]]:
    """Yield the path as a type has it, the type there and the values."""
    path = leaf.path
    if path[0] == CLUSTER and len(path) > 2:
        at = schema.normalized(schema.root_type(kind_of_key(str(path[1]))), path[3:])
        if at is None:
            unknown.add(path)
        elif at[0]:
            yield (*path[:2], EACH, *at[0]), at[1], leaf.values, leaf.met
        return
    if path == (IMAGE,):
        return
    if path[0] == IMAGE:
        root = schema.IMAGE_TYPE
    elif path[0] not in _OBJECTS:
        yield path, _type_in_request(path), leaf.values, leaf.met
        return
    at = schema.normalized(root, path[1:])
    if at is None:
        unknown.add(path)
        return
    below, type_name = at
    if below and isinstance(below[0], Step):
        return  # The fields of an object of any type, asked one by one: it never is a list.
    whole = (path[0], *below)
    if type_name.startswith(schema.MAP):
        yield from _keys(whole, type_name.removeprefix(schema.MAP), leaf)
    elif below and isinstance(below[-1], Step):
        above = schema.normalized(root, below[:-1])
        if above is not None and above[1].startswith(schema.MAP):
            if below[-1] is EACH:
                yield from _keys(whole[:-1], type_name, leaf)
            else:
                yield whole, type_name, leaf.values, leaf.met
            return
    for value in leaf.values:
        # What is compared with the keys of an object is about its fields.
        if isinstance(value, str) and value in schema.fields(type_name):
            yield (*whole, value), schema.fields(type_name)[value].type, (), 0
    yield whole, type_name, leaf.values, leaf.met


def _keys(
    path: Path, type_name: str, leaf: Leaf
) -> Iterator[tuple[Path, str, tuple[Json, ...], int]]:
    """Yield the keys of a map that a policy compares with texts, as places of their own."""
    named = path[-1] in _FREE_TEXTS
    for value in leaf.values:
        if isinstance(value, str) and value and (not named or KEY.fullmatch(value)):
            yield (*path, value), type_name, ("x",), 1


def _type_in_request(path: Path) -> str:
    if path == ("operation",):
        return _OPERATION
    if path[0] in (CLUSTER, GLOBAL):
        return schema.ANY if path[0] == GLOBAL else _LOOKED_UP
    if path[0] in ("roles", "clusterRoles") or path[-1] == "groups":
        return "[]string" if len(path) < 3 and path[-1] is not EACH else "string"
    if path == ("userInfo",):
        return schema.ANY
    return "{}string" if path == ("namespaceLabels",) else "string"


class _Merged:
    """The values of one place, from all leaves that are about it."""

    def __init__(self, type_name: str, path: Path, allowed: tuple[str, ...] = ()) -> None:
        self._allowed = allowed
        self.type = type_name
        self._path = path
        self._met: list[Json] = []
        self._rows: list[list[Json]] = []
        self._groups: set[str] = set()

    @property
    def _values(self) -> list[Json]:
        """The values so far: those known to meet it, then the others, leaf by leaf in turns."""
        return [*self._met, *in_turns(self._rows)]

    def take(self, other: _Merged) -> None:
        """Add the values of another place."""
        self._rows.append([])
        for value in other._values:
            self._put(self._rows[-1], value)
        self._groups |= other._groups

    def list_type(self, root: str, path: Path) -> str:
        """Return the type of a list that this place is in."""
        if path[0] == CLUSTER:
            return _LOOKED_UP if len(path) == 2 else schema.ANY
        if path[0] == IMAGE:
            root = schema.IMAGE_TYPE
        elif path[0] not in _OBJECTS:
            return schema.ANY if path[0] == GLOBAL else "[]string"
        at = schema.normalized(root, path[1:])
        return schema.ANY if at is None else at[1]

    def add(self, values: tuple[Json, ...], met: int, group: str) -> None:
        self._groups.add(group)
        self._rows.append([])
        for index, value in enumerate(values):
            self._put(self._met if index < met else self._rows[-1], value)

    def _put(self, listed: list[Json], value: Json) -> None:
        if self._allowed and value is not ABSENT and value not in self._allowed:
            return
        if self._path == _USER and value in (ABSENT, ""):
            return
        typed = value if value is ABSENT else _of_type(value, self.type, self._path)
        if typed is not None or self.type == schema.ANY:
            rows = chain(self._met, *self._rows)
            if not any(type(present) is type(typed) and present == typed for present in rows):
                listed.append(typed)

    def facet(self) -> Facet:
        scalars = [value for value in self._values if isinstance(value, str | int | float)]
        types = tuple(dict.fromkeys(map(type, scalars)))
        more = list(self._more())
        self._rows.append([])
        for value in more:
            self._put(self._rows[-1], value)
        values = (*self._met[:MOST_VALUES], *in_turns(self._rows)[:MOST_VALUES])
        typed = self.type != schema.ANY
        met = len(self._met[:MOST_VALUES])
        return Facet(self._path, values, met, frozenset(self._groups), typed, types)

    def _more(self) -> Iterator[Json]:
        """Yield what every field of a type is tried with."""
        if self.type == _OPERATION:
            yield from _OPERATIONS
            return
        if self.type == _LOOKED_UP:
            yield []
            return
        if self._path != _USER:
            yield ABSENT
        yield from self._allowed
        if self._path[-1] == "image":
            yield from _IMAGES
        texts = [value for value in self._values if isinstance(value, str)]
        if self._path[0] == CLUSTER and _LIST_IN_TEXT in texts:
            # Policies that ask for the bracket read lists in texts.
            for text in ("x", *(each for each in texts[:_FEW] if _LIST_IN_TEXT not in each)):
                yield from (text, json.dumps([text]), json.dumps(["unlike", text]))
        if self.type == "bool":
            yield from (True, False)
        elif self.type in ("int", "int-or-string"):
            yield from (0, 1)
        elif self.type == schema.ANY and len(self._path) > 1:
            yield from _UNTYPED
        elif self.type.startswith(schema.LIST):
            yield from ([], *(_several(self.type, count, self._path) for count in (1, 2)))
        elif self.type.startswith(schema.MAP):
            yield from ({}, {"x": schema.least(self.type.removeprefix(schema.MAP))})
        elif self.type not in schema.SCALARS:
            names = (
                name for name, field in schema.fields(self.type).items() if field.type == "string"
            )
            others = ({name: (*schema.allowed_values(self.type, name), "x")[0]} for name in names)
            yield from (schema.least(self.type), {}, *islice(others, 1))
        else:
            has_others = any(value is not ABSENT for value in self._values)
            yield from [] if has_others else [schema.least(self.type)]
            yield from ["x", ""] if self.type == "string" else []


def _of_type(value: Json, type_name: str, path: Path) -> Json:
    """Return a value as a field of a type may have it; None for one that it cannot have."""
    if type_name in (schema.ANY, "int-or-string"):
        return value
    if type_name == _LOOKED_UP:
        return value if value == [] else None
    if type_name == _OPERATION:
        return value if value in _OPERATIONS else None
    if type_name == "string":
        return value if isinstance(value, str) else None
    if type_name == "bool":
        return (
            {"true": True, "false": False}.get(value)
            if isinstance(value, str)
            else (value if isinstance(value, bool) else None)
        )
    if type_name == "int":
        return _whole(value)
    if type_name == "double":
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if type_name == "quantity":
        is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
        return value if is_scalar and quantity_or_none(str(value)) is not None else None
    if type_name.startswith(schema.LIST) and type(value) is int:
        # What a list is compared with is its length.
        return _several(type_name, value, path) if 0 <= value <= _MOST_ELEMENTS else None
    wanted = list if type_name.startswith(schema.LIST) else dict
    return value if isinstance(value, wanted) else None


def _several(list_type: str, count: int, path: Path) -> list[Json]:
    """Return a list of some elements for a place, which differ where they have names."""
    listed: list[Json] = []
    for number in range(count):
        element = schema.least(list_type.removeprefix(schema.LIST), str(path[-1]))
        if isinstance(element, dict):
            element = renamed(element, listed)
        elif isinstance(element, str) and number:
            element = f"{element}{number}"
        listed.append(element)
    return listed


def _whole(value: Json) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        # A text counts where it is a quantity.
        quantity = quantity_or_none(value)
        if (
            quantity is None
            or not 0 <= quantity.exponent < _DIGITS
            or abs(quantity.unscaled) >= 10**_DIGITS
        ):
            return None
        return int(quantity.unscaled * 10**quantity.exponent)
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


class ImpliedTypes:
    """The types that the places of custom kinds have by what the policies do with them: what has
    fields is an object, what is gone through a list, and what is compared with a text is one."""

    def __init__(self, facets: Iterable[Facet]) -> None:
        self._types: dict[Path, tuple[type, ...]] = {}
        for facet in facets:
            if facet.typed or facet.path[0] not in ("object", "oldObject"):
                continue
            for index in range(2, len(facet.path)):
                step = facet.path[index]
                self._imply(facet.path[:index], (list,) if step is EACH else (dict,))
            if facet.types:
                self._imply(facet.path, facet.types)

    def _imply(self, path: Path, types: tuple[type, ...]) -> None:
        earlier = self._types.get(path, ())
        self._types[path] = tuple(dict.fromkeys((*earlier, *types)))

    def agree(self, document: Body) -> bool:
        """Report whether a request's object has these types, or none of its fields."""
        return all(
            value is ABSENT
            or (bool in types if isinstance(value, bool) else isinstance(value, types))
            for path, types in self._types.items()
            for value in values_at(document, path)
        )
