"""JSON as Go reads it, with failures as verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.engine.ports import SignatureError
from chartkit.errors import EvaluationError
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json
from chartkit.network.signatures.go_json import wrong


def read(raw: bytes) -> Json:
    """Return the value of a JSON text; raises SignatureError."""
    try:
        return parse_json(raw.decode(errors="replace"))
    except JsonError as error:
        raise SignatureError(str(error)) from None
    except RecursionError:
        raise SignatureError("exceeded max depth") from None


def read_mapping(raw: bytes, kind: str = "map[string]interface {}") -> Mapping[str, Json]:
    """Return the object of a JSON text, empty for null; raises SignatureError. kind: the Go type
    that it is read into."""
    value = read(raw)
    if not isinstance(value, dict | None):
        raise wrong(value, f"Go value of type {kind}")
    return value or {}


def decode(types: GoTypes, root: str, value: Json) -> Body:
    """Return a value as a Go type has it; raises SignatureError."""
    try:
        return types.decode(root, value)
    except EvaluationError as error:
        raise SignatureError(error.message) from None
