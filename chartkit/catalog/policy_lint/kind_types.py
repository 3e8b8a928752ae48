"""The types that a field can have in the objects of several kinds, by Kubernetes' own schema.

Types are named as the engine's table of kinds has them: `core.v1.PodSpec`, `[]string`, `{}string`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from chartkit.engine.kubernetes.field_faults import LIST, MAP, fields_of, known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Json
from chartkit.schemas.kind_selectors import parse_kind_selector

Types = frozenset[str]
"""The names of types, any of which a value may have."""

ANY: Final[Types] = frozenset({"dyn"})
"""The types of a value that nothing is known about."""
SCALARS: Final = frozenset({"bool", "double", "int", "string", "quantity", "int-or-string"})
_WHOLE: Final = frozenset({"", "status", "ephemeralcontainers"})
"""Subresources whose object is the whole one."""
_SAMPLES: Final[dict[str, Json]] = {
    "bool": False, "double": 1, "int": 1, "string": "example", "quantity": "1",
    "int-or-string": 1,
}  # fmt: skip
_DEEPEST: Final = 8


@lru_cache(maxsize=1024)
def kinds_selected(selectors: tuple[str, ...]) -> tuple[GroupVersionKind, ...]:
    """Return Kubernetes' own kinds of kind selectors; none where a selector has a wildcard for the
    kind, or is of a custom kind or of a subresource with a kind of its own."""
    selected: dict[GroupVersionKind, None] = {}
    for text in selectors:
        selector = parse_kind_selector(text)
        group, version = compile_wildcard(selector.group), compile_wildcard(selector.version)
        kinds = [
            kind
            for kind in known_kinds()
            if kind.kind == selector.kind and group(kind.group) and version(kind.version)
        ]
        if not kinds or selector.subresource not in _WHOLE:
            return ()
        selected.update(dict.fromkeys(kinds))
    return tuple(selected)


def types_of(kinds: Iterable[GroupVersionKind]) -> Types:
    """Return the types of kinds; ANY for no kinds."""
    return frozenset(filter(None, map(type_of_kind, kinds))) or ANY


def field_types(types: Types, name: str) -> Types:
    """Return the types of a field; none where no type has the field."""
    inner: set[str] = set()
    for type_name in types:
        fields = fields_of(type_name)
        if type_name.startswith(MAP):
            inner.add(type_name.removeprefix(MAP))
        elif name in fields:
            inner.add(fields[name].type)
        elif not (fields or type_name.startswith(LIST) or type_name in SCALARS):
            return ANY
    return frozenset(inner)


def element_types(types: Types) -> Types:
    """Return the types of the elements of lists; none where no type is a list."""
    if not all(
        name.startswith((LIST, MAP)) or name in SCALARS or fields_of(name) for name in types
    ):
        return ANY
    return frozenset(name.removeprefix(LIST) for name in types if name.startswith(LIST))


def is_object(name: str) -> bool:
    """Report whether the values of a type are objects."""
    return name.startswith(MAP) or bool(fields_of(name))


def names_of(types: Types) -> list[str]:
    """Return the names of the fields of any of the types."""
    return [*dict.fromkeys(field for name in sorted(types) for field in fields_of(name))]


def sample(name: str, depth: int = 0) -> Json:
    """Return a value of a type with the required fields alone."""
    if name.startswith(LIST):
        return [sample(name.removeprefix(LIST), depth + 1)]
    if name in _SAMPLES:
        return _SAMPLES[name]
    if depth > _DEEPEST:
        return {}
    fields = fields_of(name).items()
    return {key: sample(field.type, depth + 1) for key, field in fields if field.required}
