"""Patches as kustomize applies them to custom resources: strategic merges and JSON Patch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, item_number, mapping_at, pointer_of, pointer_steps

_OPERATIONS: Final = ("add", "remove", "replace")
_END: Final = "-"


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
        metadata = {key: each for key, each in metadata.items() if each is not None}
        return {**made, "kind": target.get("kind"), "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Operations:
    """A JSON Patch (RFC 6902)."""

    items: Sequence[Json]

    def apply(self, target: Body) -> Body:
        """Return the patched object; raise StaysError."""
        made: Json = target
        for item in self.items:
            operation = mapping_at(item)
            name, path = operation.get("op"), operation.get("path")
            if name not in _OPERATIONS or not isinstance(path, str):
                raise StaysError(f"the operation {name} is not carried along")
            made = _changed(made, pointer_steps(path), operation)
        if not isinstance(made, dict) or _identity(made) != _identity(target):
            raise StaysError("it renames the policy")
        return made


Patch: TypeAlias = Merge | Operations


def _identity(body: Body) -> tuple[Json, ...]:
    metadata = mapping_at(body, "metadata")
    return body.get("apiVersion"), body.get("kind"), metadata.get("name"), metadata.get("namespace")


def _refuse_directives(value: Json) -> None:
    if isinstance(value, dict):
        directive = next((key for key in value if str(key).startswith("$")), None)
        if directive is not None:
            raise StaysError(f"the directive {directive} is not carried along")
        for each in value.values():
            _refuse_directives(each)
    elif isinstance(value, list):
        for each in value:
            _refuse_directives(each)


def _merged(target: Json, patch: Json) -> Json:
    if not isinstance(patch, dict):
        return patch
    made = dict(mapping_at(target))
    for key, each in patch.items():
        if each is None:
            made.pop(key, None)
        else:
            made[key] = _merged(made.get(key), each)
    return made


def _changed(value: Json, steps: Sequence[str], operation: Mapping[str, Json]) -> Json:
    """Return a value with the end of a path added, removed or replaced; what is shared with others
    stays."""
    if not steps:
        raise StaysError("it replaces the policy")
    step, is_end = steps[0], len(steps) == 1
    made = value.copy() if isinstance(value, dict | list) else value
    if isinstance(made, list):
        rest = steps[1:]
        is_added = not rest and operation["op"] == "add"
        index = len(made) if is_added and step == _END else item_number(step)
        if index is None or index >= len(made) + is_added:
            raise StaysError(f"{operation['path']} is not in the policy")
        if rest:
            made[index] = _changed(made[index], rest, operation)
        elif operation["op"] == "remove":
            del made[index]
        elif is_added:
            made.insert(index, operation.get("value"))
        else:
            made[index] = operation.get("value")
    elif isinstance(made, dict):
        if step not in made and not (is_end and operation["op"] == "add"):
            raise StaysError(f"{operation['path']} is not in the policy")
        if not is_end:
            made[step] = _changed(made[step], steps[1:], operation)
        elif operation["op"] == "remove":
            del made[step]
        else:
            made[step] = operation.get("value")
    else:
        raise StaysError(f"{operation['path']} is not in the policy")
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
