"""The sets of rules of `data/sets.yaml`, as policies."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from chartkit.engine import RunnablePolicy, compile_any, sorted_out
from chartkit.model import Resource
from tests.objects import api_object

_FILE = Path(__file__).parent / "data" / "sets.yaml"


@cache
def sets() -> dict[str, Any]:
    """The sets by their names."""
    return {each["name"]: each for each in yaml.safe_load(_FILE.read_text())}


def policies_of(rules: Sequence[dict[str, Any]]) -> tuple[RunnablePolicy, ...]:
    """A policy for each rule, named after its number."""
    bodies = (_policy(f"p{number}", rule) for number, rule in enumerate(rules))
    return sorted_out(compile_any(Resource(body)) for body in bodies)[0]


def _policy(name: str, rule: dict[str, Any]) -> dict[str, Any]:
    if "cel" in rule:
        matched = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["pods"],
        }
        return {
            "apiVersion": "policies.kyverno.io/v1",
            "kind": "ValidatingPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [matched]},
                "validations": [{"expression": rule["cel"]}],
            },
        }
    validation = {key: value for key, value in rule.items() if key != "preconditions"}
    written: dict[str, Any] = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": validation,
    }
    if "preconditions" in rule:
        written["preconditions"] = rule["preconditions"]
    return api_object("kyverno.io/v1", "ClusterPolicy", {"name": name}, spec={"rules": [written]})
