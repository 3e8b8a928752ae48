"""Blocks of conditions: any, all, the flat list; messages; what short-circuits."""

from unittest.mock import Mock

import pytest

from chartkit.engine.cluster_policy.conditions import blocks
from chartkit.engine.cluster_policy.conditions.blocks import Outcome, compile_conditions
from chartkit.engine.cluster_policy.policy import ConditionsMalformed
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import compile_template
from chartkit.errors import EvaluationError
from chartkit.model import Json
from tests.data import from_table
from tests.errors import error_of

YES = {"key": 1, "operator": "Equals", "value": 1, "message": "y"}
NO = {"key": 1, "operator": "Equals", "value": 2, "message": "n"}
BROKEN = {"key": "{{ zz }}", "operator": "Equals", "value": 2}


def _evaluate(body: Json) -> Outcome:
    return compile_conditions(body).evaluate(Context({"x": "abc"}))


@pytest.mark.parametrize(
    ("body", "holds", "message"),
    [
        (None, True, ""),
        ({}, True, ""),
        ([], True, ""),
        ({"bogus": [NO]}, True, ""),
        ({"any": None, "all": None}, True, ""),
        ({"all": []}, True, ""),
        ({"any": []}, False, ""),
        ({"any": [NO, YES]}, True, "y"),
        ({"Any": [NO]}, False, "n"),
        ({"any": [NO, NO]}, False, "n; n"),
        ({"all": [YES, YES]}, True, "y; y"),
        ({"all": [YES, NO, NO]}, False, "n"),
        ({"any": [YES], "all": [YES]}, True, "y; y"),
        ({"any": [NO], "all": [YES]}, False, "n"),
        ({"any": [NO], "all": [NO]}, False, "n; n"),
        ([YES, YES], True, "y;y"),
        ([YES, NO], False, "n"),
        ({"any": [{**YES, "message": None}]}, True, ""),
    ],
)
def test_blocks(body: Json, holds: bool, message: str) -> None:
    assert _evaluate(body) == Outcome(holds, message)


@pytest.mark.parametrize("body", [None, {}, [], {"all": []}])
def test_blocks_empty(body: Json) -> None:
    assert compile_conditions(body).is_empty


@pytest.mark.parametrize("body", [{"any": []}, {"all": [YES]}, [YES]])
def test_not_empty(body: Json) -> None:
    assert not compile_conditions(body).is_empty


@pytest.mark.parametrize("body", [{"any": [YES, BROKEN]}, {"all": [NO, BROKEN]}, [NO, BROKEN]])
def test_what_is_decided_hides_later_errors(body: Json) -> None:
    _evaluate(body)


@pytest.mark.parametrize("body", [{"any": [NO, BROKEN]}, {"any": [NO], "all": [BROKEN]}, [BROKEN]])
def test_blocks_errors(body: Json) -> None:
    assert error_of(EvaluationError, _evaluate, body).message == (
        "failed to substitute variables in condition key: failed to resolve zz at path : "
        'JMESPath query failed: Unknown key "zz" in path'
    )


def test_errors_of_values() -> None:
    with pytest.raises(EvaluationError, match=r"^failed to substitute variables in condition v"):
        _evaluate([{"key": 1, "operator": "Equals", "value": "{{ zz }}"}])


def test_variables_on_both_sides() -> None:
    assert _evaluate([{"key": "{{ x }}", "operator": "AnyIn", "value": ["{{ x }}"]}]).holds
    assert _evaluate([{"key": "ab*", "operator": "AnyIn", "value": ["{{ x }}"]}]).holds


def test_messages_are_not_substituted() -> None:
    assert _evaluate([{**YES, "message": "{{ zz }}"}]).message == "{{ zz }}"


def test_unknown_operators_fail_when_they_are_used() -> None:
    with pytest.raises(EvaluationError, match="failed to create handler for condition operator"):
        _evaluate([{**YES, "operator": "equals"}])


@from_table("body")
def test_blocks_malformed(body: Json) -> None:
    with pytest.raises(ConditionsMalformed):
        compile_conditions(body)


def test_conditions_that_an_alias_repeats_are_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = Mock(side_effect=compile_template)
    monkeypatch.setattr(blocks, "compile_template", compiled)
    condition = {"key": "{{ x }}", "operator": "Equals", "value": "a*", "message": "m"}
    outcome = compile_conditions({"all": [condition] * 1000}).evaluate(Context({"x": "abc"}))
    assert outcome == Outcome(True, "; ".join(["m"] * 1000))
    assert [one.args for one in compiled.call_args_list] == [("{{ x }}",), ("a*",)]
