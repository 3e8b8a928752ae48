"""The text of `patchesJson6902`: YAML or JSON, read and checked as Kyverno reads it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.mutate.json_patch import NAMES, apply_operations
from chartkit.engine.cluster_policy.mutate.workspace import Patch, Workspace
from chartkit.engine.json_patch.json_document import opened
from chartkit.engine.json_patch.nodes import PatchError
from chartkit.errors import InputError
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.yaml_errors import yaml_problem
from chartkit.model import Body, Json

_HTML: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_MOST_TEXTS: Final = 256


@lru_cache(_MOST_TEXTS)
def compile_json_patch(text: str) -> Patch:
    """Return the operations of a text as a patch; its errors are raised when it runs."""
    try:
        operations = decode_operations(_value(text))
    except PatchError as error:
        return _failing(error.message)
    return lambda resource, work=None: apply_operations(operations, resource, work or Workspace())


def _failing(message: str) -> Patch:
    def fail(_resource: Body, _work: Workspace | None = None) -> Json:
        raise PatchError(message)

    return fail


def _value(text: str) -> Json:
    if text.startswith("["):
        try:
            return parse_json(text)
        except JsonError as error:
            raise PatchError("failed to decode patches: invalid state detected") from error
    try:
        return opened(parse_yaml(text))
    except InputError as error:
        problem = yaml_problem(text) or f"yaml: {error.message}"
        raise PatchError(f"failed to convert patchesJSON6902 to JSON: {problem}") from error


def decode_operations(value: Json) -> list[Body]:
    """The operations of a patch, checked; raises `PatchError`."""
    problem = patch_problem(value)
    if problem:
        raise PatchError(f"failed to decode patches: {problem}")
    return [] if value is None else list(value)


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


_JSON_TYPES: Final = ((str, "string"), (bool, "bool"), (dict, "object"), (list, "array"))


def _mistyped(value: Json, wanted: str) -> str:
    name = next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "number")
    return f"json: cannot unmarshal {name} into Go value of type {wanted}"
