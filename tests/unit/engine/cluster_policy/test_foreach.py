"""foreach: which elements are looked at, what patterns compare, what decides."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.foreach import compile_list
from chartkit.engine.cluster_policy.validate import compile_validate
from chartkit.engine.context.context import Context
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, Resource
from tests.data import from_table
from tests.unit.engine.policies import policy, request, rule

X: Body = {"n": "x"}
FAILED = "validation failure: validation error: rule r failed at path /n/"


def _foreach(*loops: Body, message: str = "", **data: Any) -> tuple[str, str] | None:
    read = policy(rule(validate={"message": message, "foreach": list(loops)}))
    given = request(Resource({"n": "whole"}))
    result = compile_validate(read.rules[0], read)(Context(data), given)
    return (result.status.value, result.message) if result else None


def _loop(**parts: Any) -> Body:
    return {"list": "l", "pattern": X, **parts}


PASSED = ("pass", "rule passed")


@from_table("elements", "expected")
def test_foreach_elements(elements: Json, expected: list[str] | None) -> None:
    found = _foreach(_loop(), l=elements)
    assert (found and list(found)) == expected


def test_a_list_that_is_missing_or_cannot_be_had() -> None:
    assert _foreach(_loop()) is None
    found = _foreach(_loop(list="length(l)"), l=1)
    assert found is not None
    assert found[0] == "error"
    assert found[1].startswith("failed to evaluate list: JMESPath query failed: ")
    assert _foreach(_loop(list="length(l)"), _loop(list="m"), l=1, m=[X]) == PASSED


def test_an_expression_that_does_not_parse() -> None:
    with pytest.raises(EvaluationError):
        compile_list("l[")(Context({}))
    with pytest.raises(EvaluationError):
        compile_list(" ")(Context({}))


def test_every_loop_must_pass() -> None:
    loops = _loop(), _loop(list="m")
    assert _foreach(*loops, l=[X], m=[X]) == PASSED
    assert _foreach(*loops, l=[X], m=[{"n": "y"}]) == ("fail", FAILED)
    assert _foreach(*loops, l=[X]) == PASSED


@from_table("scope", "element", "expected")
def test_element_scope(scope: bool, element: Json, expected: list[str]) -> None:
    found = _foreach(_loop(elementScope=scope), l=[element])
    assert found is not None
    assert list(found) == expected


def test_skipped_elements_do_not_count() -> None:
    pattern = {"(k)": "a", "n": "x"}
    assert _foreach(_loop(pattern=pattern), l=[{"k": "b"}]) is None
    assert _foreach(_loop(pattern=pattern), l=[{"k": "b"}, {"k": "a", "n": "x"}]) == PASSED


def test_preconditions_choose_elements() -> None:
    wanted = {"all": [{"key": "{{ element.k }}", "operator": "Equals", "value": "a"}]}
    loop = _loop(preconditions=wanted)
    assert _foreach(loop, l=[{"k": "a", "n": "x"}, {"k": "b", "n": "y"}]) == PASSED
    assert _foreach(loop, l=[{"k": "b", "n": "y"}]) is None
    assert _foreach(loop, l=[{"n": "y"}]) is None


def test_deny_and_the_names_of_elements() -> None:
    key = "{{ elementIndex }}{{ element }}{{ element0 }}{{ elementIndex0 }}"
    condition = {"key": key, "operator": "Equals", "value": "1bb1"}
    loop = {"list": "l", "deny": {"conditions": {"any": [condition]}}}
    assert _foreach(loop, l=["a", "b"]) == (
        "fail",
        "validation failure: validation error: rule r failed",
    )
    assert _foreach(loop, l=["b", "c"]) == PASSED


def test_context_entries_of_a_loop() -> None:
    entries = [{"name": "v", "variable": {"jmesPath": "element.k"}}]
    loop = _loop(context=entries, pattern={"n": "{{ v }}"})
    assert _foreach(loop, l=[{"k": "x", "n": "x"}, {"k": "y", "n": "y"}]) == PASSED
    assert _foreach(loop, l=[{"k": "x", "n": "x"}, {"k": "y", "n": "x"}]) == ("fail", FAILED)


def test_foreach_nested() -> None:
    loop = {"list": "l", "foreach": [{"list": "element.m", "pattern": X}]}
    assert _foreach(loop, l=[{"m": [X]}, {"m": []}]) == PASSED
    assert _foreach(loop, l=[{"m": []}]) is None
    assert _foreach(loop, l=[{"m": [{"n": "y"}]}]) == ("fail", f"validation failure: {FAILED}")


def test_a_nested_loop_over_texts_compares_the_element_around_it() -> None:
    loop = {"list": "l", "foreach": [{"list": "element.m", "pattern": X}]}
    assert _foreach(loop, l=[{"n": "x", "m": ["a"]}]) == PASSED


def test_a_loop_with_nothing_in_it() -> None:
    assert _foreach({"list": "l"}, l=[X]) is None
