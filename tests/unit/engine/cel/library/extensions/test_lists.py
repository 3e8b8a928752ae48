"""Lists and sets: parts, order, repetition; and optionals."""

import math

import pytest

from chartkit.engine.cel import CelError, compile_expression
from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.library.extensions import lists, optionals, two_variable
from chartkit.engine.cel.times import Duration, Timestamp, timestamp_of_text
from chartkit.engine.cel.values import NONE, OptionalValue, Uint, Value
from tests.data import from_table
from tests.unit.engine.cel.library.calls import answer

_BIG = 2**53


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("list_slice", ([1, 2, 3], 1, 3), ("list", [2, 3])),
        ("list_slice", ([1], 1, 1), ("list", [])),
        (
            "list_slice",
            ([1], -1, 1),
            ("error", "cannot slice(-1, 1), negative indexes not supported"),
        ),
        (
            "list_slice",
            ([1], 1, 0),
            ("error", "cannot slice(1, 0), start index must be less than or equal to end index"),
        ),
        ("list_slice", ([1], 0, 2), ("error", "cannot slice(0, 2), list is length 1")),
        ("list_flatten", ([[1], [[2]], 3],), ("list", [1, [2], 3])),
        ("list_flatten_int", ([[1], [[2]], 3], 5), ("list", [1, 2, 3])),
        ("list_flatten_int", ([[1]], 0), ("list", [[1]])),
        ("list_flatten_int", ([[1]], -1), ("error", "level must be non-negative")),
        ("lists_range", (3,), ("list", [0, 1, 2])),
        ("lists_range", (-1,), ("error", "lists.range: size must be non-negative, got -1")),
        (
            "lists_range",
            (1_000_001,),
            ("error", "lists.range: size 1000001 exceeds maximum allowed (1000000)"),
        ),
        ("list_reverse", ([1, "a"],), ("list", ["a", 1])),
        (
            "list_distinct",
            ([1, 1.0, Uint(1), "1", True, None, None],),
            ("list", [1, "1", True, None]),
        ),
        ("list_distinct", ([[1], [1.0], {"a": 1}, {"a": Uint(1)}],), ("list", [[1], {"a": 1}])),
        ("list_distinct", ([_BIG + 1, float(_BIG), _BIG],), ("list", [_BIG + 1, _BIG])),
        ("list_int_sort", ([3, 1, 2],), ("list", [1, 2, 3])),
        ("list_int_sort", ([],), ("list", [])),
        ("list_int_sort", ([1, "a"],), ("error", "list elements must have the same type")),
        ("list_int_sort", ([None],), ("error", "list elements must be comparable")),
        (
            "list_google.protobuf.Duration_sort",
            ([Duration(2), Duration(-1)],),
            ("list", [Duration(-1), Duration(2)]),
        ),
        ("list_int_sortByAssociatedKeys", (["a", "b", "c"], [2, 1, 2]), ("list", ["b", "a", "c"])),
        (
            "list_int_sortByAssociatedKeys",
            (["a"], [1, 2]),
            (
                "error",
                "@sortByAssociatedKeys() expected a list of the same size as the associated keys "
                "list, but got 1 and 2 elements respectively",
            ),
        ),
    ],
)
def test_lists_of_cel_go(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(lists.LIBRARY, id, args) == expected


def test_what_is_no_number_is_never_the_same() -> None:
    found = answer(lists.LIBRARY, "list_distinct", ([math.nan, math.nan],))[1]
    assert isinstance(found, list)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("id", "left", "right", "expected"),
    [
        ("list_sets_contains_list", [1, 2], [2.0, Uint(1)], True),
        ("list_sets_contains_list", [1], [True], False),
        ("list_sets_contains_list", [], [], True),
        ("list_sets_contains_list", [[1], {"a": 1}], [{"a": 1.0}], True),
        ("list_sets_equivalent_list", [1, 1], [1.0], True),
        ("list_sets_equivalent_list", [1], [1, 2], False),
        ("list_sets_intersects_list", [1, 2], [3, 2.0], True),
        ("list_sets_intersects_list", [], [1], False),
        ("list_sets_intersects_list", [_BIG + 1], [float(_BIG)], True),
    ],
)
def test_extension_lists_sets(
    id: str, left: list[Value], right: list[Value], expected: bool
) -> None:
    assert answer(lists.SETS_LIBRARY, id, (left, right)) == ("bool", expected)


def _of(value: Value) -> tuple[str, Value]:
    return "OptionalValue", OptionalValue(True, value)


_NONE = ("OptionalValue", NONE)


@pytest.mark.parametrize(
    ("library", "id", "args", "expected"),
    [
        (optionals.LIBRARY, "optional_ofNonZeroValue", (0,), _NONE),
        (optionals.LIBRARY, "optional_ofNonZeroValue", (-0.0,), _NONE),
        (optionals.LIBRARY, "optional_ofNonZeroValue", (Duration(0),), _NONE),
        (optionals.LIBRARY, "optional_ofNonZeroValue", (Timestamp(0),), _of(Timestamp(0))),
        (
            optionals.LIBRARY,
            "optional_ofNonZeroValue",
            (timestamp_of_text("0001-01-01T00:00:00Z"),),
            _NONE,
        ),
        (optionals.LIBRARY, "optional_ofNonZeroValue", (NONE,), _of(NONE)),
        (optionals.LIBRARY, "optional_value", (NONE,), ("error", "optional.none() dereference")),
        (optionals.LIBRARY, "optional_or_optional", (NONE, NONE), _NONE),
        (
            optionals.LIBRARY,
            "optional_orValue_value",
            (OptionalValue(True, None), 1),
            ("NoneType", None),
        ),
        (optionals.LIBRARY, "select_optional_field", ({"a": None}, "a"), _of(None)),
        (optionals.LIBRARY, "select_optional_field", ("text", "a"), _NONE),
        (optionals.LIBRARY, "select_optional_field", (OptionalValue(True, {"a": 1}), "a"), _of(1)),
        (
            optionals.LIBRARY,
            "select_optional_field",
            ([1], "a"),
            ("error", "unsupported index type 'string' in list"),
        ),
        (optionals.LIBRARY, "list_optindex_optional_int", ([1], 1), _NONE),
        (optionals.LIBRARY, "map_optindex_optional_value", ({1: 2}, 1.0), _of(2)),
        (optionals.LIBRARY, "optional_list_index_int", (OptionalValue(True, [7]), 0), _of(7)),
        (optionals.LIBRARY, "optional_map_index_value", (NONE, "a"), _NONE),
        (optionals.LIBRARY, "list_first", ([],), _NONE),
        (optionals.LIBRARY, "list_last", ([1, 2],), _of(2)),
        (optionals.LIBRARY, "optional_unwrap", ([OptionalValue(True, 1), NONE],), ("list", [1])),
        (
            optionals.LIBRARY,
            "optional_unwrap",
            ([NONE, 1.0],),
            ("error", "value 1 is not optional"),
        ),
        (
            two_variable.LIBRARY,
            "@mapInsert_map_key_value",
            ({"a": 1}, "b", 2),
            ("dict", {"a": 1, "b": 2}),
        ),
        (
            two_variable.LIBRARY,
            "@mapInsert_map_map",
            ({"a": 1}, {"a": 2}),
            ("error", "insert failed: key a already exists"),
        ),
    ],
)
def test_optionals_and_entries(
    library: Library, id: str, args: tuple[Value, ...], expected: tuple[str, Value]
) -> None:
    assert answer(library, id, args) == expected


@from_table("list_", "kind", "method")
def test_the_counter_of_comparisons_fails_where_there_is_no_list(
    list_: str, kind: str, method: str
) -> None:
    source = f"{list_}.distinct() == [] || true"
    variables = {"object": {"s": "a", "n": None}}
    problem = f"{kind} is not traits.Lister: missing method {method}"
    with pytest.raises(CelError) as failure:
        compile_expression(source, ENVIRONMENTS["vpol"]).evaluate(variables)
    assert str(failure.value) == f"internal error: interface conversion: {problem}"
    assert compile_expression(source, ENVIRONMENTS["gpol"]).evaluate(variables) is True


def test_a_replacement_that_never_happens_reads_no_pattern() -> None:
    program = compile_expression("regex.replace('a', '(', 'b', 0)", ENVIRONMENTS["vpol"])
    assert program.evaluate({}) == "a"
