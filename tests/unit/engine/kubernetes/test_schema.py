from __future__ import annotations

import pytest

from chartkit.engine.kubernetes.definitions import (
    Check,
    anything,
    boolean,
    integer,
    list_of,
    map_of,
    show_path,
    struct,
    text,
)
from chartkit.model import Json


@pytest.mark.parametrize(
    ("check", "value", "problem"),
    [
        (text(), 1, 'must be of type string: "integer"'),
        (text(among=("a",)), "b", 'Unsupported value: "b": supported values: "a"'),
        (text(longest=2), "abc", "Too long: may not be more than 2 bytes"),
        (boolean, "true", 'must be of type boolean: "string"'),
        (integer(), True, 'must be of type integer: "boolean"'),
        (integer(least=1), 0, "should be greater than or equal to 1"),
        (list_of(text()), {}, 'must be of type array: "object"'),
        (map_of(text()), [], 'must be of type object: "array"'),
        (struct({}), 1.5, 'must be of type object: "number"'),
        (text(), None, 'must be of type string: "null"'),
    ],
)
def test_wrong_values(check: Check, value: Json, problem: str) -> None:
    assert check(value, ("x",)) == [(("x",), problem)]


def test_every_problem_is_found_with_its_place() -> None:
    check = struct({"a": list_of(text()), "b": map_of(boolean)}, required=("c",))
    problems = check({"a": ["x", 1], "b": {"k": 1}, "d": 2}, ())
    assert [show_path(path) for path, _ in problems] == ["c", "a[1]", "b.k", "d"]


def test_null_counts_as_missing() -> None:
    assert struct({"a": text()}, required=("a",))({"a": None}, ()) == [(("a",), "Required value")]


def test_null_under_an_unknown_key_is_an_unknown_field() -> None:
    assert struct({})({"a": None}, ()) == [(("a",), "value provided for unknown field")]
    assert struct({}, open_ended=True)({"a": None}, ()) == []


def test_fields_that_may_not_stand_together() -> None:
    check = struct({"a": anything, "b": anything}, exclusive=("a", "b"))
    assert check({"a": 1}, ()) == []
    assert check({"a": 1, "b": 1}, ()) == [((), "a and b may not stand together")]


def test_one_of_some_fields() -> None:
    check = struct({"a": anything, "b": anything}, one_of=("a", "b"))
    assert check({"a": 1}, ()) == []
    assert check({}, ()) == check({"a": 1, "b": 1}, ()) == [((), "must have exactly one of a, b")]


def test_an_open_ended_object_takes_other_fields() -> None:
    assert struct({}, open_ended=True)({"x": 1}, ()) == []
