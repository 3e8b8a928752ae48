"""`patchesJson6902`: operations as evanphx/json-patch 5 does them with Kyverno's options.

`add` creates missing containers on its way, `remove` of a missing value is not an error, and
indexes may count from the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.mutate.workspace import Patch, Workspace
from chartkit.engine.json_patch import (
    MISSING,
    NO_DOCUMENT,
    WRITTEN_NULL,
    Document,
    KeyMissingError,
    PatchError,
    copied,
    equal,
    located,
)
from chartkit.errors import InputError, Reraise, raising
from chartkit.go.json_decoder import JsonError, parse_json, yaml_problem
from chartkit.go.types import kind_of
from chartkit.model import Body, Json

_OPERATION: Final = 20
"""Steps of an operation, beside the values that it writes."""


def apply_operations(operations: list[Body], resource: Body, work: Workspace) -> Json:
    """Return the object with checked operations applied to a copy of it; the same object if its
    text is unchanged. Raises `PatchError` and `BudgetError`."""
    before = work.opened(resource)
    document = Document(resource, before)
    values = _Values(work.budget)
    for operation in operations:
        values.budget.spend(_OPERATION, "a JSON patch")
        _OPERATIONS[operation["op"]](document, operation, values)
    patched = document.closed()
    if _same_text(before, patched):
        work.left()
        return resource
    work.keep(patched, document.changed, values.made)
    return patched


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that operations write: each use makes its own copy, which is counted."""

    budget: Budget
    made: list[Json] = field(default_factory=list)

    def of(self, operation: Body) -> Json:
        value = operation.get("value", MISSING)
        return WRITTEN_NULL if value is None else self.copy(value)

    def copy(self, value: Json) -> Json:
        if not isinstance(value, dict | list):
            return value
        self.budget.weigh(value, "a value of a JSON patch")
        made = _raw(value)
        self.made.append(made)
        return made


def _same_text(left: Json, right: Json) -> bool:
    """Report whether two values are the same JSON text; the keys of the first are sorted."""
    if left is right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(
            _same_text(left[key], member) for key, member in right.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            a is b or _same_text(a, b) for a, b in zip(left, right, strict=True)
        )
    return equal(left, right)


def _raw(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _raw(member) for key, member in value.items()}
    return [_raw(element) for element in value] if isinstance(value, list) else value


def _add(document: Document, operation: Body, values: _Values) -> None:
    path, value = operation["path"], values.of(operation)
    if not path:
        if isinstance(value, dict | list):
            document.root = value
        else:
            if value is WRITTEN_NULL:
                raise PatchError(NO_DOCUMENT)
            raise PatchError(_mistyped(value, "map[string]*jsonpatch.lazyNode"))
        return
    document.ensure(path)
    document.add(path, value)


def _remove(document: Document, operation: Body, _: _Values) -> None:
    path = operation["path"]
    container, key = document.find(path)
    if container is None:
        return
    with Reraise(f"error in remove for path: '{path}': ", PatchError, PatchError):
        document.remove(container, key)


def _replace(document: Document, operation: Body, values: _Values) -> None:
    document.replace(operation["path"], values.of(operation))


def _move(document: Document, operation: Body, _: _Values) -> None:
    if not operation["from"]:
        raise PatchError("unable to move entire document to another path: invalid state detected")
    document.move(operation["from"], operation["path"])


def _copy(document: Document, operation: Body, values: _Values) -> None:
    source = operation["from"]
    document.copy(source, operation["path"], f'"{source}"', values.copy)


def _test(document: Document, operation: Body, values: _Values) -> None:
    path, wanted = operation["path"], values.of(operation)
    failed = f"testing value {path} failed: test failed"
    if not path:
        if not equal(document.root, wanted):
            raise PatchError(failed)
        return
    missing = f"test operation does not apply: is missing path: {path}"
    container, key = located(document.find(path), missing)
    try:
        value = document.get(container, key)
    except KeyMissingError:
        value = None
    except PatchError as error:
        raise PatchError(f"error in test for path: '{path}': {error.message}") from error
    is_null = wanted is WRITTEN_NULL or wanted is MISSING
    if not (is_null if value is None else not is_null and equal(value, wanted)):
        raise PatchError(failed)


_OPERATIONS: Final[dict[str, Callable[[Document, Body, _Values], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}

NAMES: Final = frozenset(_OPERATIONS)
"""The operations there are."""


_HTML: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_MOST_TEXTS: Final = 256


@lru_cache(_MOST_TEXTS)
def compile_json_patch(text: str) -> Patch:
    """Return the operations of a text as a patch; its errors are raised when it runs."""
    try:
        value = _value(text)
        if problem := patch_problem(value):
            raise PatchError(f"failed to decode patches: {problem}")
        operations = [] if value is None else list(value)
    except PatchError as error:
        return raising(PatchError, error.message)
    return lambda resource, work=None: apply_operations(operations, resource, work or Workspace())


def _value(text: str) -> Json:
    if text.startswith("["):
        try:
            return parse_json(text)
        except JsonError as error:
            raise PatchError("failed to decode patches: invalid state detected") from error
    try:
        return copied(parse_yaml(text))
    except InputError as error:
        problem = yaml_problem(text) or f"yaml: {error.message}"
        raise PatchError(f"failed to convert patchesJSON6902 to JSON: {problem}") from error


def patch_problem(value: Json) -> str:
    """Return the fault of a patch, in the library's words; empty for none."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return _mistyped(value, "jsonpatch.Patch")
    for operation in value:
        if operation is not None and not isinstance(operation, dict):
            return _mistyped(operation, "jsonpatch.Operation")
    for operation in value:
        problem = _operation_problem(operation or {})
        if problem:
            return f"invalid operation {_shown(operation)}: {problem}"
    return ""


def _shown(operation: Json) -> str:
    """The operation as JSON; what stands in its members keeps its order."""
    if operation is None:
        return "null"
    members = (f"{_text(key)}:{_text(operation[key])}" for key in sorted(operation))
    return "{" + ",".join(members) + "}"


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_HTML)


def _operation_problem(operation: Body) -> str:
    name = operation.get("op")
    if not isinstance(name, str) or name not in NAMES:
        return "unsupported operation"
    if name in ("add", "replace") and "value" not in operation:
        return "failed to decode 'value': operation, missing value field: missing value"
    if name in ("move", "copy"):
        problem = _text_problem(operation.get("from"), "operation, missing from field")
        if problem:
            return f"failed to decode 'from': {problem}"
    problem = _text_problem(operation.get("path"), "operation missing path field")
    return f"failed to decode 'path': {problem}" if problem else ""


def _text_problem(value: Json, missing: str) -> str:
    if value is None:
        return f"{missing}: missing value"
    return "" if isinstance(value, str) else _mistyped(value, "string")


def _mistyped(value: Json, wanted: str) -> str:
    return f"json: cannot unmarshal {kind_of(value)} into Go value of type {wanted}"
