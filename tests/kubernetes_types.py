"""Strict checks of objects against Kubernetes' own types, offline (kubernetes-validate's data)."""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from chartkit.model import Body

_VERSION = "v1.35.0-local-strict"
_PACKAGE = "kubernetes_validate"
_CUSTOM = re.compile(r"(monitoring\.coreos\.com|cert-manager\.io|grafana\.integreatly\.org)/")


def problems(body: Body) -> list[str]:
    """What Kubernetes' types refuse in an object; custom resources have no types there."""
    if _CUSTOM.match(body["apiVersion"]):
        return []
    validator = _validator(body["apiVersion"], body["kind"])
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(body)]


@cache
def _validator(api_version: str, kind: str) -> Draft202012Validator:
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version)
    schema = Resource.from_contents(_load(f"{kind.lower()}-{group}.json"))
    registry: Registry[Any] = schema @ _definitions()
    return Draft202012Validator(schema.contents, registry=registry)


@cache
def _definitions() -> Registry[Any]:
    definitions = Resource.from_contents(_load("_definitions.json"))
    registry: Registry[Any] = definitions @ Registry()
    return registry


def _load(name: str) -> Any:
    pytest.importorskip(_PACKAGE, reason="kubernetes-validate is not installed")
    file = files(_PACKAGE) / "kubernetes-json-schema" / _VERSION / name
    return json.loads(file.read_text("utf-8"))
