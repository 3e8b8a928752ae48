"""The checks of a rule's own `patchesJson6902`; those inside a foreach are not looked at."""

from __future__ import annotations

from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.mutate import patch_problem
from chartkit.engine.cluster_policy.policy import Rule
from chartkit.engine.context.variables.syntax import find_variables, split_text
from chartkit.errors import InputError
from chartkit.go.yaml_errors import yaml_problem
from chartkit.model import Json

_STAND_IN: Final = "kyvernojsonpatchvariable"


def json_patch_fault(rule: Rule, index: int) -> str | None:
    """Return the fault of the operations, with text for every variable; None for none."""
    text = (rule.mutate or {}).get("patchesJson6902")
    if not text:
        return None
    place = f"spec.rules[{index}]"
    unsound = f"path must begin with a forward slash: {place}: "
    try:
        operations = parse_yaml(_without_variables(text))
    except InputError as error:
        return unsound + (yaml_problem(text) or f"yaml: {error.message}")
    problem = patch_problem(operations)
    if problem:
        return unsound + problem
    return _operations_fault(operations or (), place, unsound)


def _operations_fault(operations: Json, place: str, unsound: str) -> str | None:
    for operation in operations:
        if not operation["path"].startswith("/"):
            return f"{unsound}{operation['path']}"
    for operation in operations:
        if operation["op"] == "test" and "value" not in operation:
            return f"invalid value: {place}: operation, missing value field: missing value"
    return None


def _without_variables(text: str) -> str:
    variables = find_variables(text)
    while variables:
        text = _STAND_IN.join(split_text(text, variables))
        variables = find_variables(text)
    return text
