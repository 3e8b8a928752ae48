"""Runs one recorded JMESPath case against the engine."""

import json
import re
from typing import Any

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.expression import CrashError
from chartkit.go.fmt import UnsupportedValueError, go_json

Case = dict[str, Any]


def run_case(case: Case) -> str | None:
    """What differs from the recorded answer; None where nothing does."""
    kind, text = _answer(case["query"], case["input"])
    if "shape" in case:
        found = kind == "value" and re.search(case["shape"], str(json.loads(text)))
        return _compare(bool(found), text, case["shape"])
    if "error" in case:
        return _compare(kind == "error" and text == case["error"], text, case["error"])
    # Go escapes what is not UTF-8 where the engine already holds the replacement character.
    raw = case["raw"].replace("\\ufffd", "\ufffd")
    return _compare(kind == "value" and text == raw, text, raw)


def _answer(query: str, data: Any) -> tuple[str, str]:
    try:
        expression = compile_expression(query)
    except JMESPathError as error:
        return "error", f"failed to compile JMESPath: {query}, error: {error}"
    try:
        result = expression.search(data)
    except CrashError as error:
        return "error", f"panic: {error}"
    except JMESPathError as error:
        return "error", f"error evaluating JMESPath expression: {error}"
    try:
        return "value", go_json(result)
    except UnsupportedValueError as error:
        return "error", f"error marshalling result to JSON: {error}"


def _compare(same: bool, got: str, wanted: str) -> str | None:
    return None if same else f"got {got}, want {wanted}"
