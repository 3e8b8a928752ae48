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

OUTPUTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "scan": "Scan",
        "adopt": "Adopt",
        "promote": "Promote",
        "render": "Render",
        "diff": "Diff",
        "values-lint": "ValuesLint",
        "policies-check": "PoliciesCheck",
        "policies-lint": "PoliciesCheck",
        "policies-show": "PoliciesShow",
        "policies-coverage": "PoliciesCoverage",
        "plan": "Plan",
        "plan-rehearsal": "PlanRehearsal",
        "rescue": "Rescue",
        "migrate-plan": "MigratePlan",
        "migrate-policies": "MigratePolicies",
        "values-migrate": "ValuesMigrate",
        "check-compat": "CheckCompat",
        "exceptions-list": "ExceptionsList",
        "exceptions-check": "ExceptionsCheck",
        "report-merge": "ReportMerge",
        "report-diff": "ReportDiff",
        "test": "TestRun",
        "test-coverage": "TestCoverage",
        "policies-list": "PoliciesList",
        "policies-search": "PoliciesList",
        "preview": "Preview",
        "why": "Why",
        "estimate": "Estimate",
        "witness": "Witnesses",
    }
)
"""The types of outputs by the names of their commands."""


def output_schema(name: str) -> Schema:
    """Return the JSON Schema of a command's JSON output."""
    types = _types()
    return {"$schema": _DIALECT, **json_schema(resolved(types[OUTPUTS[name]], types))}


@cache
def _types() -> Mapping[str, Schema]:
    return parse_types(read_file(_FILE)[0].body)
