"""Kubernetes' own kinds: types of their fields, values that manifests have in them, and the
smallest object of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from chartkit.addons.satisfy.texts import Language
from chartkit.addons.satisfy.values import MISSING, Test
from chartkit.documents.reader import read_file
from chartkit.engine.kubernetes.field_faults import LIST, MAP, fields_of, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.errors import InputError
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Body, FieldPath, Json, Location, Resource
from chartkit.suggestions import suggestion

_TABLES: Final[Body] = read_file(Path(__file__).with_suffix(".yaml"))[0].body
_EXAMPLES: Final[Body] = _TABLES["examples"]
_OBJECTS: Final[Body] = _TABLES["objects"]
_CHOICES: Final[dict[tuple[str, ...], list[str]]] = {
    tuple(ends.split(".")): values for ends, values in _TABLES["choices"].items()
}
_RESTARTED: Final = frozenset(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"))
"""The kinds whose Pods are always started again."""

UNUSUAL: Final = frozenset(("ephemeralContainers", "hostUsers", "os"))
"""Fields that few manifests have: a rule that takes something else as well is met by that."""
_Types = Callable[[Json], bool]
_TYPES: Final[dict[str, tuple[_Types, tuple[Json, ...]]]] = {
    "bool": (lambda value: isinstance(value, bool), (True, False)),
    "int": (lambda value: type(value) is int, (1, 2, 0)),
    "double": (lambda value: type(value) in (int, float), (1, 2)),
    "string": (lambda value: isinstance(value, str), ("example", "other")),
    "quantity": (
        lambda value: (
            (isinstance(value, str) and quantity_or_none(value) is not None) or type(value) is int
        ),
        ("1", "2"),
    ),
    "int-or-string": (lambda value: type(value) in (int, str), (1, "1")),
}
"""By the type in the table of kinds: its test, and values of it."""
_SIZES: Final = frozenset(("int", "double", "quantity"))


@lru_cache(maxsize=16_384)
def type_at(kind: GroupVersionKind, path: FieldPath) -> str | None:
    """Return the type of a field as the table of kinds writes it; None for an unknown one."""
    type_ = type_of_kind(kind)
    for step in path:
        if type_ is None:
            return None
        if type_.startswith(LIST) and isinstance(step, int):
            type_ = type_.removeprefix(LIST)
        elif type_.startswith(MAP) and isinstance(step, str):
            type_ = type_.removeprefix(MAP)
        else:
            field = fields_of(type_).get(str(step))
            type_ = None if field is None else field.type
    return type_


@lru_cache(maxsize=16_384)
def type_test(kind: GroupVersionKind, path: FieldPath) -> Test | None:
    """Return the test of a field's type, which an API server asks for, with values of it; None for
    a field of an unknown type."""
    name = type_at(kind, path)
    test = None if name is None else _test_of(name, kind, path)
    if test is None or not _is_needed(path):
        return test
    holds = test.holds
    return replace(test, holds=lambda value: value not in (MISSING, []) and holds(value))


def _is_needed(path: FieldPath) -> bool:
    """Report whether no API server takes an object without a field: a container and its image."""
    is_image = path[-3:-2] == ("containers",) and path[-1:] == ("image",)
    return is_image or path[-1:] == ("containers",) or path[-2:] == ("containers", 0)


def _test_of(name: str, kind: GroupVersionKind, path: FieldPath) -> Test | None:
    """Return the test of a field of a type; None for a type that says nothing."""
    usual = (_EXAMPLES[str(path[-1])],) if path and str(path[-1]) in _EXAMPLES else ()
    if name.startswith(LIST):
        inner = name.removeprefix(LIST)
        item = _TYPES[inner][1][:1] if inner in _TYPES else ({},)
        return _typed(lambda value: isinstance(value, list), (*usual, [], list(item)))
    if name not in _TYPES:
        is_object = name.startswith(MAP) or bool(fields_of(name))
        return _typed(lambda value: isinstance(value, dict), (*usual, {})) if is_object else None
    if path[-1:] == ("restartPolicy",) and kind.kind in _RESTARTED:
        options: Sequence[str] = ("Always",)
    else:
        options = next((_CHOICES[ends] for ends in _CHOICES if path[-len(ends) :] == ends), ())
    if choices := options:
        return _typed(lambda value: value in choices, tuple(choices), is_closed=True)
    holds, values = _TYPES[name]
    usual = tuple(filter(holds, usual))
    test = _typed(holds, (*usual, *values), name, is_closed=name == "bool")
    return replace(test, usual=usual)


def _typed(
    holds: _Types, values: tuple[Json, ...], name: str = "", *, is_closed: bool = False
) -> Test:
    is_size = name in _SIZES
    return Test(
        "of its type",
        lambda value: value is MISSING or holds(value),
        (*values, MISSING),
        is_closed=is_closed,
        is_fallback=True,
        takes_texts=any(isinstance(value, str) for value in values),
        order="quantity" if is_size else "",
        languages=(Language("*"),) if name == "string" else None,
        is_positive=is_size or name == "string",
        shapes=tuple(shape for shape in (list, dict) if isinstance(values[0], shape)),
    )


def completed(kind: GroupVersionKind, body: Body, before: Body) -> Body:
    """Return an object whose additions to another one have values in required fields."""
    name = type_of_kind(kind)
    if name is None:
        return body
    whole: Body = _filled(name, body, before)
    return whole


def _filled(name: str, value: Json, before: Json) -> Json:
    if value is before:
        return value
    if isinstance(value, list) and name.startswith(LIST):
        listed = before if isinstance(before, list) else []
        inner = name.removeprefix(LIST)
        return [
            _filled(inner, item, listed[index] if index < len(listed) else None)
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict) or name.startswith((LIST, MAP)):
        return value
    old = before if isinstance(before, dict) else None
    types = fields_of(name)
    filled = {
        key: _filled(types[key].type, member, (old or {}).get(key)) if key in types else member
        for key, member in value.items()
    }
    if old is None:
        for key, field in types.items():
            if field.required and key not in filled:
                filled[key] = _OBJECTS.get(name, {}).get(key) or _sample(key, field.type)
    return filled


def _sample(key: str, name: str) -> Json:
    if key in _EXAMPLES:
        return _EXAMPLES[key]
    if name in _TYPES:
        return _TYPES[name][1][0]
    return [] if name.startswith(LIST) else _filled(name, {}, None)


@cache
def skeletons() -> Mapping[str, Body]:
    """Return the skeletons by kind."""
    (document,) = read_file(Path(__file__).with_name("skeletons.yaml"))
    bodies: Mapping[str, Body] = document.body
    return bodies


def skeleton(kind: str) -> Resource:
    """Return the skeleton of a kind; raise InputError for one that has none."""
    body = skeletons().get(kind)
    if body is None:
        kinds = ", ".join(skeletons())
        hint = suggestion(kind, skeletons()) or f"--from FILE names an object of it; known: {kinds}"
        raise InputError(f"there is no smallest object of kind '{kind}'", hint=hint)
    return Resource(body, Location(f"<{kind}>"))
