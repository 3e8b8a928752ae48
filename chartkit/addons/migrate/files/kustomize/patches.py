"""Patches as kustomize applies them to custom resources: strategic merges and JSON Patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from chartkit.engine.json_patch import Document, PatchError, located
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, mapping_at, pointer_of, values_below

_OPERATIONS: Final = ("add", "remove", "replace")


class StaysError(ChartkitError):
    """A patch that does not follow; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A strategic merge. Kustomize knows no schema of custom resources, so mappings are merged,
    lists are replaced, and null removes a key."""

    body: Body

    def apply(self, target: Body) -> Body:
        """Return the patched object, under its own name; raise StaysError."""
        _refuse_directives(self.body)
        made: Body = _merged(target, self.body)
        named = mapping_at(target, "metadata")
        kept = {key: named.get(key) for key in ("name", "namespace")}
        metadata = {**mapping_at(made, "metadata"), **kept}
        metadata = {key: value for key, value in metadata.items() if value is not None}
        return {**made, "kind": target.get("kind"), "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Operations:
    """A JSON Patch (RFC 6902)."""

    items: Sequence[Json]

    def apply(self, target: Body) -> Body:
        """Return the patched object; raise StaysError."""
        document = Document(target, target)
        for item in self.items:
            operation = mapping_at(item)
            name, path, value = (operation.get(key) for key in ("op", "path", "value"))
            if name not in _OPERATIONS or not isinstance(path, str):
                raise StaysError(f"the operation {name} is not carried along")
            if not path:
                raise StaysError("it replaces the policy")
            try:
                if name == "add":
                    document.add(path, value)
                elif name == "replace":
                    document.replace(path, value)
                else:
                    container, key = located(document.find(path), path)
                    document.get(container, key)
                    document.remove(container, key)
            except PatchError:
                raise StaysError(f"{path} is not in the policy") from None
        made = document.closed()
        if not isinstance(made, dict) or identity(made) != identity(target):
            raise StaysError("it renames the policy")
        return made


Patch: TypeAlias = Merge | Operations


def identity(body: Body) -> tuple[Json, ...]:
    """Return what tells an object from others."""
    metadata = mapping_at(body, "metadata")
    return body.get("apiVersion"), body.get("kind"), metadata.get("name"), metadata.get("namespace")


def _refuse_directives(value: Json) -> None:
    for path, _ in values_below(value):
        if path and str(path[-1]).startswith("$"):
            raise StaysError(f"the directive {path[-1]} is not carried along")


def _merged(target: Json, patch: Json) -> Json:
    if not isinstance(patch, dict):
        return patch
    made = dict(mapping_at(target))
    for key, item in patch.items():
        if item is None:
            made.pop(key, None)
        else:
            made[key] = _merged(made.get(key), item)
    return made


def difference(old: Body, new: Body) -> Body:
    """Return the merge that makes a document of another one: null where a key is removed."""
    made: Body = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            below = difference(before, value)
            if below:
                made[key] = below
        elif key not in old or before != value:
            made[key] = value
    return made


def operations(old: Body, merge: Body, path: str = "") -> Iterator[Body]:
    """Yield the operations of a JSON Patch that do what a merge does."""
    for key, value in merge.items():
        place = f"{path}{pointer_of(key)}"
        if value is None:
            yield {"op": "remove", "path": place}
        elif isinstance(value, dict) and isinstance(old.get(key), dict):
            yield from operations(old[key], value, place)
        else:
            yield {"op": "replace" if key in old else "add", "path": place, "value": value}
