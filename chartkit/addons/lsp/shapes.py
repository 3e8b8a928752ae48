"""The shapes of documents: Kubernetes' kinds, Kyverno's kinds, and chartkit.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chartkit.addons.lsp.cursor import Step
from chartkit.engine.kubernetes.field_faults import (
    LIST,
    MAP,
    fields_of,
    known_kinds,
    type_of_kind,
)
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version
from chartkit.model import Json
from chartkit.schemas.compact import Schema, flattened, type_library
from chartkit.schemas.crds import kinds

_METADATA: Final = "meta.v1.ObjectMeta"
_COMMON: Final = {"apiVersion": "string", "kind": "string", "metadata": _METADATA}
_PARTS: Final = ("anyOf", "oneOf", "allOf")
_CONDITIONS: Final = frozenset({"conditions", "preconditions"})
_ANY_ALL: Final = "AnyAllConditions"
"""The type of conditions of ClusterPolicies, which their definitions leave open."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a value. type: of one of Kubernetes' kinds, as its table names it; schema: of
    any other, whose properties are schemas or such types; definitions: gives what it refers to."""

    type: str = ""
    schema: Any = None
    definitions: Callable[[str], Schema] = lambda name: flattened(
        type_library()[name], type_library()
    )

    def fields(self) -> Mapping[str, Shape]:
        """Return the known fields of a mapping."""
        if self.schema is None:
            return {name: Shape(each.type) for name, each in fields_of(self.type).items()}
        found: dict[str, Shape] = {}
        for part in self._parts():
            for name, schema in (part.get("properties") or {}).items():
                found.setdefault(
                    name, Shape(schema) if isinstance(schema, str) else self._of(schema)
                )
        return found

    def within(self, step: Step) -> Shape | None:
        """Return the shape of a field or of the items; None where it is not known."""
        if self.schema is None:
            prefix = LIST if isinstance(step, int) else MAP
            if self.type.startswith(prefix):
                return Shape(self.type.removeprefix(prefix))
        if isinstance(step, str) and (field := self.fields().get(step)) is not None:
            is_open = step in _CONDITIONS and not (field.fields() or field.holds_more)
            return self._of({"$ref": _ANY_ALL}) if is_open else field
        key = "items" if isinstance(step, int) else "additionalProperties"
        inner = (part.get(key) for part in self._parts())
        return next((self._of(schema) for schema in inner if isinstance(schema, dict)), None)

    def at(self, path: Iterable[Step]) -> Shape | None:
        """Return the shape at a path."""
        shape: Shape | None = self
        for step in path:
            shape = shape.within(step) if shape is not None else None
        return shape

    @property
    def doc(self) -> str:
        """What the value means; empty where nothing is known."""
        own = self.schema.get("description") if isinstance(self.schema, dict) else None
        texts = [own, *(part.get("description") for part in self._parts())]
        return next((text for text in texts if isinstance(text, str)), "")

    @property
    def name(self) -> str:
        """The type, as people write it: `list of string`."""
        if self.schema is None:
            name = self.type.replace(LIST, "list of ").replace(MAP, "map of ")
            return " ".join(word.rpartition(".")[2] for word in name.split(" "))
        types = [part["type"] for part in self._parts() if "type" in part]
        names = types[0] if types else "any"
        names = " or ".join(names) if isinstance(names, list) else str(names)
        items = self.within(0) if names == "array" else None
        return f"list of {items.name}" if items is not None else names

    def values(self) -> list[Json]:
        """Return the values that there are, as far as they are counted."""
        found = [value for part in self._parts() for value in part.get("enum") or ()]
        found += [part["const"] for part in self._parts() if "const" in part]
        if not found and self.name in ("boolean", "bool"):
            return [True, False]
        return [value for value in dict.fromkeys(map(_hashable, found)) if value is not None]

    @property
    def holds_more(self) -> bool:
        """Whether the value is a mapping or a list."""
        if self.schema is None:
            return self.type.startswith((LIST, MAP)) or bool(fields_of(self.type))
        return self.name.startswith(("object", "list", "array")) or bool(self.fields())

    def _of(self, schema: Schema) -> Shape:
        return Shape("", schema, self.definitions)

    def _parts(self) -> Iterator[Schema]:
        """Yield the schema and those that it is made of, without what it refers to."""
        todo, seen = [self.schema], 0
        while todo and seen < 64:
            seen += 1
            schema = todo.pop(0)
            if not isinstance(schema, dict):
                continue
            if isinstance(reference := schema.get("$ref"), str):
                todo.append(self.definitions(reference))
            yield schema
            todo += [part for key in _PARTS for part in schema.get(key) or ()]
            todo += [schema[key] for key in ("then", "else") if key in schema]


def shape_of(types: tuple[str, str]) -> Shape | None:
    """Return the shape of an object by its `apiVersion` and kind; None for one that is not
    known."""
    group, version = parse_api_version(types[0])
    for kind in kinds():
        for each in kind.versions:
            if (kind.group, each.name, kind.kind) == (group, version, types[1]):
                own = flattened(type_library()[each.type], type_library())
                return Shape("", {**own, "properties": {**_COMMON, **own["properties"]}})
    name = type_of_kind(GroupVersionKind(group, version, types[1]))
    return Shape(name) if name is not None else None


def known_types() -> Iterator[tuple[str, str]]:
    """Yield the `apiVersion` and kind of every kind that has a shape."""
    for kind in kinds():
        yield from ((f"{kind.group}/{each.name}", kind.kind) for each in kind.versions)
    for each in known_kinds():
        yield "/".join(filter(None, each[:2])), each.kind


def _hashable(value: Json) -> Json:
    return value if isinstance(value, str | int | float | bool) else None
