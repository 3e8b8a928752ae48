"""The JSON Schemas of commands' JSON outputs, made of `outputs.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.schemas.compact import Schema, json_schema, parse_types, resolved

_FILE: Final = Path(__file__).with_name("outputs.yaml")
_DIALECT: Final = "http://json-schema.org/draft-07/schema#"

OBJECTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "scan": "Scan",
        "adopt": "Adopt",
        "render": "Render",
        "diff": "Diff",
        "values-lint": "ValuesLint",
        "policies-check": "PoliciesCheck",
        "policies-show": "PoliciesShow",
        "policies-coverage": "PoliciesCoverage",
        "plan": "Plan",
        "migrate-plan": "MigratePlan",
        "migrate-policies": "MigratePolicies",
        "check-compat": "CheckCompat",
        "report-merge": "ReportMerge",
        "report-diff": "ReportDiff",
        "test-coverage": "TestCoverage",
    }
)
"""The types of outputs that are objects, by the names of their commands."""
LISTS: Final[Mapping[str, str]] = MappingProxyType(
    {"test": "TestCase", "policies-list": "ListedPolicy", "preview": "Preview"}
)
"""The types of items, for outputs that are lists."""


def output_schema(name: str) -> Schema:
    """Return the JSON Schema of a command's JSON output."""
    types = _types()
    if name in OBJECTS:
        return {"$schema": _DIALECT, **_schema(types[OBJECTS[name]])}
    return {"$schema": _DIALECT, "type": "array", "items": _schema(types[LISTS[name]])}


def _schema(schema: Schema) -> Schema:
    return json_schema(resolved(schema, _types()))


@cache
def _types() -> Mapping[str, Schema]:
    return parse_types(read_file(_FILE)[0].body)
