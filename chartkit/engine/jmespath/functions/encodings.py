"""Text encoded and decoded: Base64, digests, JSON and YAML."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import ANY, STRING, FunctionSpec, function, to_json
from chartkit.engine.jmespath.errors import FunctionError
from chartkit.errors import InputError
from chartkit.go.base64_text import Base64Error, decode_base64
from chartkit.go.fmt import UnsupportedValueError, go_json
from chartkit.go.json_decoder import JsonError
from chartkit.go.json_decoder import parse_json as read_json
from chartkit.go.yaml_errors import yaml_problem
from chartkit.model import Json

_YAML: Final = 4
"""Steps of a character of YAML, which is read slowly."""


def _bytes(text: str) -> bytes:
    """The bytes of a text; what `base64_decode` could not read as text is as it was."""
    return text.encode("utf-8", "surrogateescape")


@function(
    "base64_decode",
    STRING,
    returns=STRING,
    doc="The text that Base64 stands for.",
    example="base64_decode('aGVsbG8=')",
)
def base64_decode(text: str) -> str:
    try:
        return decode_base64(text).decode("utf-8", "surrogateescape")
    except Base64Error as error:
        raise FunctionError(str(error)) from error


@function(
    "base64_encode",
    STRING,
    returns=STRING,
    doc="A text in Base64.",
    example="base64_encode('hello')",
)
def base64_encode(text: str) -> str:
    return base64.b64encode(_bytes(text)).decode("ascii")


def _digest(name: str, make: Callable[[bytes], str], bits: str) -> FunctionSpec:
    declare = function(
        name,
        STRING,
        returns=STRING,
        doc=f"The {bits} digest of a text, in hexadecimal.",
        example=f"{name}('hello')",
    )
    return declare(lambda text: make(_bytes(text)))


sha256 = _digest("sha256", lambda data: hashlib.sha256(data).hexdigest(), "SHA-256")
sha1 = _digest("sha1", lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(), "SHA-1")
md5 = _digest("md5", lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), "MD5")


@function(
    "parse_json",
    STRING,
    returns=ANY,
    doc="The value of a JSON text.",
    example="parse_json('{\"a\": 1}')",
)
def parse_json(text: str) -> Json:
    try:
        return read_json(text)
    except JsonError as error:
        raise FunctionError(str(error)) from error


@function(
    "parse_yaml",
    STRING,
    returns=ANY,
    counts=True,
    doc="The value of a YAML text, read as Kubernetes reads YAML.",
    example="parse_yaml('a: 1')",
)
def parse_yaml(budget: Budget, text: str) -> Json:
    from chartkit.documents.reader import parse_yaml as read_yaml

    budget.spend(_YAML * len(text), "parse_yaml()")
    try:
        return read_yaml(text)
    except InputError as error:
        raise FunctionError(yaml_problem(text) or f"yaml: {error.message}") from error


@function(
    "to_string",
    ANY,
    returns=STRING,
    counts=True,
    doc="A text as it is; anything else as JSON.",
    example="to_string(request.object.metadata.labels)",
)
def to_string(budget: Budget, value: Json) -> str:
    if isinstance(value, str):
        return value
    budget.weigh(value, "to_string()")
    try:
        return go_json(to_json(value))
    except UnsupportedValueError as error:
        raise FunctionError(str(error)) from error
