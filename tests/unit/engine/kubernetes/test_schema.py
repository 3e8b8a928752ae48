from typing import Any

import pytest

from chartkit.engine.kubernetes.definitions import Problem, find_problems, show_path
from chartkit.model import Json
from chartkit.schemas.compact import parse_type


def _problems(schema: Any, value: Json) -> list[Problem]:
    return list(find_problems(parse_type(schema, "t"), value))


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ("string", 1, 'must be of type string: "integer"'),
        ("enum a", "b", 'Unsupported value: "b": supported values: "a"'),
        ("string ..2", "abc", "Too long: may not be more than 2 bytes"),
        ("bool", "true", 'must be of type boolean: "string"'),
        ("int", True, 'must be of type integer: "boolean"'),
        ("int 1..", 0, "should be greater than or equal to 1"),
        ("list string", {}, 'must be of type array: "object"'),
        ("map string", [], 'must be of type object: "array"'),
        ({}, 1.5, 'must be of type object: "number"'),
        ("string", None, 'must be of type string: "null"'),
    ],
)
def test_wrong_values(schema: Any, value: Json, problem: str) -> None:
    assert list(find_problems(parse_type(schema, "t"), value, ("x",))) == [(("x",), problem)]


def test_every_problem_is_found_with_its_place() -> None:
    schema = {"a": "list string", "b": "map bool", "c!": "any"}
    problems = _problems(schema, {"a": ["x", 1], "b": {"k": 1}, "c": None, "d": 2})
    assert [show_path(path) for path, _ in problems] == ["c", "a[1]", "b.k", "d"]


def test_null_counts_as_missing() -> None:
    assert _problems({"a!": "string"}, {"a": None}) == [(("a",), "Required value")]


def test_null_under_an_unknown_key_is_an_unknown_field() -> None:
    assert _problems({}, {"a": None}) == [(("a",), "value provided for unknown field")]
    assert _problems({"$open": True}, {"a": None}) == []


def test_fields_that_may_not_stand_together() -> None:
    schema = {"a": "any", "b": "any", "$notBoth": "a b"}
    assert _problems(schema, {"a": 1}) == []
    assert _problems(schema, {"a": 1, "b": 1}) == [((), "a and b may not stand together")]


def test_one_of_some_fields() -> None:
    schema = {"a": "any", "b": "any", "$oneOf": "a b"}
    assert _problems(schema, {"a": 1}) == []
    wanted = [((), "must have exactly one of a, b")]
    assert _problems(schema, {}) == _problems(schema, {"a": 1, "b": 1}) == wanted


def test_an_open_ended_object_takes_other_fields() -> None:
    assert _problems({"$open": True}, {"x": 1}) == []
