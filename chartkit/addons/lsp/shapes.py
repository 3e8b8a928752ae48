"""The shapes of documents: Kubernetes' kinds, Kyverno's kinds, and chartkit.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chartkit.addons.lsp.cursor import Step
from chartkit.engine.kubernetes.field_faults import LIST, MAP, fields_of, known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version
from chartkit.model import Body
from chartkit.schemas.compact import Schema, flattened, type_library
from chartkit.schemas.crds import kinds

_TEXT: Final = {"type": "string"}
_COMMON: Final = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"$ref": "meta.v1.ObjectMeta"}}
_SCALARS: Final = {"bool": "boolean", "double": "number", "int": "integer", "string": "string"}
_INNER: Final = ("anyOf", "oneOf", "allOf", "then", "else")
_CONDITIONS: Final = frozenset({"conditions", "preconditions"})
_MOST_PARTS: Final = 64


def _definition(name: str) -> Schema:
    """Return a type of Kyverno's kinds or of Kubernetes' own as a schema."""
    library = type_library()
    if name in library:
        return flattened(library[name], library)
    fields = {key: _of_table(field.type) for key, field in fields_of(name).items()}
    return {"type": name.rpartition(".")[2], "properties": fields}


def _of_table(name: str) -> Schema:
    """Return a type as the table of Kubernetes' types names it as a schema."""
    if name.startswith(LIST):
        return {"type": "array", "items": _of_table(name.removeprefix(LIST))}
    if name.startswith(MAP):
        return {"type": "object", "additionalProperties": _of_table(name.removeprefix(MAP))}
    return {"type": _SCALARS[name]} if name in _SCALARS else {"$ref": name}


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a value. definitions: gives what its schema refers to."""

    schema: Schema
    definitions: Callable[[str], Schema] = _definition

    def fields(self) -> Mapping[str, Shape]:
        """Return the known fields of a mapping."""
        parts = [part.get("properties") or {} for part in self._parts()]
        return {name: self._of(part[name]) for part in reversed(parts) for name in part}

    def at(self, path: Iterable[Step]) -> Shape | None:
        """Return the shape at a path; None where it is not known."""
        shape: Shape | None = self
        for step in path:
            shape = shape.within(step) if shape is not None else None
        return shape

    def within(self, step: Step) -> Shape | None:
        """Return the shape of a field or of the items."""
        field = None if isinstance(step, int) else self.fields().get(step)
        if field is not None and step in _CONDITIONS and not field.holds_more:
            # The definition of ClusterPolicy leaves them open.
            return self._of({"$ref": "AnyAllConditions"})
        key = "items" if isinstance(step, int) else "additionalProperties"
        return field or next(map(self._of, self._all(key, dict)), None)

    @property
    def doc(self) -> str:
        """The meaning of the value; empty where nothing is known."""
        return next(self._all("description", str), "")

    @property
    def name(self) -> str:
        """The type, as people write it: `list of string`."""
        names = next(self._all("type", (str, list)), "any")
        items = self.within(0) if names == "array" else None
        if items is not None:
            return f"list of {items.name}"
        return " or ".join(names) if isinstance(names, list) else str(names)

    def values(self) -> list[str]:
        """Return the allowed values, as YAML has them, as far as they are enumerated."""
        listed = [value for values in self._all("enum", list) for value in values]
        if not listed and self.name == "boolean":
            listed = [True, False]
        scalars = dict.fromkeys(value for value in listed if isinstance(value, str | int))
        return [value if isinstance(value, str) else json.dumps(value) for value in scalars]

    @property
    def holds_more(self) -> bool:
        """True if the value is a mapping or a list."""
        return self.name.startswith(("object", "list", "array")) or bool(self.fields())

    def _of(self, schema: Schema) -> Shape:
        return Shape(schema, self.definitions)

    def _all(self, key: str, kind: Any) -> Iterator[Any]:
        """Yield the values of a type that the schema and its parts have under a key."""
        return (part[key] for part in self._parts() if isinstance(part.get(key), kind))

    def _parts(self) -> Iterator[Body]:
        """Yield the schema, what it refers to, and what it is made of."""
        todo: list[Any] = [self.schema]
        for part, _ in zip(todo, range(_MOST_PARTS), strict=False):
            if isinstance(part, list):
                todo += part
            elif isinstance(part, dict):
                yield part
                todo += [self.definitions(part["$ref"])] if "$ref" in part else []
                todo += [part[key] for key in _INNER if key in part]


def shape_of(types: tuple[str, str]) -> Shape | None:
    """Return the shape of an object by its `apiVersion` and kind; None for one that is not
    known."""
    kind = GroupVersionKind(*parse_api_version(types[0]), types[1])
    name = type_of_kind(kind)
    own = {(kind.group, version.name, kind.kind): version.type
           for kind in kinds() for version in kind.versions}  # fmt: skip
    if name is None and (name := own.get(kind)) is None:
        return None
    return Shape({"$ref": name, "properties": _COMMON})


def known_types() -> Iterator[tuple[str, str]]:
    """Yield the `apiVersion` and kind of every kind that has a shape."""
    for kind in kinds():
        yield from ((f"{kind.group}/{version.name}", kind.kind) for version in kind.versions)
    for gvk in known_kinds():
        yield "/".join(filter(None, gvk[:2])), gvk.kind
