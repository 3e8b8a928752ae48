"""Patterns of rules: statuses, messages, variables."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.handler import Checked
from chartkit.engine.cluster_policy.validate import compile_single_pattern
from chartkit.engine.cluster_policy.validate_any import compile_any_pattern
from chartkit.engine.context.context import Context
from chartkit.errors import EvaluationError
from chartkit.model import Json
from tests.data import from_table
from tests.unit.engine.policies import policy, rule


def _single(pattern: Json, value: Json, message: str = "", **data: Any) -> tuple[str, str]:
    return _shown(_judge(compile_single_pattern, pattern, value, message, data))


def _any(pattern: Json, value: Json, message: str = "", **data: Any) -> tuple[str, str]:
    return _shown(_judge(compile_any_pattern, pattern, value, message, data))


def _judge(compile_it: Any, body: Json, value: Json, message: str, data: Any) -> Checked:
    read = policy(rule(validate={"message": message, "pattern": {}}))
    checked: Checked = compile_it(body, read.rules[0])(Context(data), value)
    return checked


def _shown(checked: Checked | None) -> tuple[str, str]:
    assert checked is not None
    return checked.status.value, checked.message


SKIPPED = "conditional anchor mismatch: conditional anchor key doesn't exist in the resource"
DIFFERS = "resource value '2' does not match '1' at path /b/"


@from_table("message", "expected")
def test_overlay_failed(message: str, expected: str) -> None:
    assert _single({"b": 1}, {"b": 2}, message, x="y") == ("fail", expected)


def test_passed_and_skipped() -> None:
    assert _single({"b": 1}, {"b": 1}) == ("pass", "validation rule 'r' passed.")
    assert _single({"(b)": 1}, {}) == ("skip", SKIPPED)


def test_a_missing_anchored_key_is_an_error() -> None:
    pattern = {"=(l)": [{"^(n)": []}], "b": 1}
    value = {"l": [{}], "b": 2}
    text = f"rule r execution error: {DIFFERS}"
    assert _single(pattern, value) == ("error", f"validation error: {text}")
    assert _single(pattern, value, "m") == ("error", f"validation error: m. {text}")


def test_any_pattern() -> None:
    patterns = [{"b": 1}, {"(c)": 1}, {"b": "x"}]
    assert _any(patterns, {"b": "x"}) == ("pass", "validation rule 'r' anyPattern[2] passed.")
    failed = "rule r[0] failed at path /b/ rule r[2] failed at path /b/"
    assert _any(patterns, {"b": 2}) == ("fail", f"validation error: {failed}")
    assert _any(patterns, {"b": 2}, "m") == ("fail", f"validation error: m. {failed}")
    assert _any(patterns, {"b": 2}, "{{ zz }}") == (
        "fail",
        f"validation error: variables substitution error in rule r execution error: {failed}",
    )
    assert _any([{"(c)": 1}], {}) == ("skip", f"rule r[0] skipped: {SKIPPED}")
    assert _any([], {}, "m") == ("pass", "m")


def test_an_error_in_any_pattern_is_a_failure() -> None:
    status, message = _any([{"l": [["x"], ["y"]]}], {"l": []})
    assert status == "fail"
    assert message.startswith("validation error: rule r[0] failed: validate Array failed")


def test_numbers_of_any_pattern_are_floats() -> None:
    assert _single({"b": 1}, {"b": "1.0"})[0] == "fail"
    assert _any([{"b": 1}], {"b": "1.0"})[0] == "pass"


def test_overlay_variables() -> None:
    for _ in range(2):
        assert _single({"b": "{{ x }}*"}, {"b": "yes"}, x="y")[0] == "pass"
        assert _single({"{{ x }}": "{{ n }}"}, {"y": "1.0"}, x="y", n=1)[0] == "pass"
        assert _any("{{ l }}", {"b": 1}, l=[{"b": 2}, {"b": 1}])[0] == "pass"
    status, message = _single({"b": "{{ zz }}"}, {})
    assert status == "error"
    assert message.startswith("variable substitution failed: failed to resolve zz at path /b: ")
    assert _any(["{{ zz }}"], {})[0] == "error"


def test_a_pattern_of_variables_is_compiled_for_each_value() -> None:
    read = policy(rule(validate={"pattern": {}}))
    judge = compile_single_pattern({"b": "{{ x }}"}, read.rules[0])
    for index in range(600):
        assert _shown(judge(Context({"x": f"v{index}"}), {"b": f"v{index}"}))[0] == "pass"
        assert _shown(judge(Context({"x": f"v{index}"}), {"b": "other"}))[0] == "fail"
    assert _shown(judge(Context({"x": True}), {"b": 1}))[0] == "fail"
    assert _shown(judge(Context({"x": 1}), {"b": 1}))[0] == "pass"


@pytest.mark.parametrize(
    ("value", "name"), [("x", "string"), (True, "bool"), ({"a": 1}, "object"), (1.5, "number")]
)
def test_any_pattern_that_is_no_list(value: Json, name: str) -> None:
    text = f"json: cannot unmarshal {name} into Go value of type []interface {{}}"
    status, message = _any("{{ x }}", {}, x=value)
    assert status == "error"
    assert message.endswith(text)
    assert _any({"constant": 1}, {})[0] == "error"


@pytest.mark.parametrize("judge", [_single, _any])
def test_variables_that_give_nothing(judge: Any) -> None:
    with pytest.raises(EvaluationError):
        judge("{{ x }}", {}, x=None)


def test_a_message_that_is_no_text() -> None:
    with pytest.raises(EvaluationError, match="didn't resolve to a string"):
        _single({"b": 1}, {"b": 2}, "{{ l }}", l=[1])


def test_a_pattern_nested_too_deep() -> None:
    pattern: Json = 1
    for _ in range(200):
        pattern = {"a": pattern}
    with pytest.raises(EvaluationError, match="levels"):
        _single(pattern, {})
