"""Order, sums and positions in lists, members of several types included."""

import pytest

from chartkit.engine.cel.library.kubernetes.lists import LIBRARY
from chartkit.engine.cel.types import INT
from chartkit.engine.cel.values import Value
from tests.unit.engine.cel.library.calls import answer
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1, 1, 2].isSorted()", "true"),
        ("[true, false].isSorted()", "false"),
        ("[timestamp(2), timestamp(1)].isSorted()", "false"),
        ("[dyn(1), dyn('a')].isSorted()", "true"),
        ("[dyn(2), dyn(1.5)].isSorted()", "false"),
        ("[dyn(1), dyn(null)].isSorted()", "error: no such overload"),
        ("[].isSorted()", "true"),
        ("[1u, 2u].sum()", "3u"),
        ("[1.5, 2.5].sum()", "4.0"),
        ("[9223372036854775807, 1].sum()", "error: integer overflow"),
        ("[18446744073709551615u, 1u].sum()", "error: unsigned integer overflow"),
        ("[dyn(1), dyn(2.0)].sum()", "error: no such overload"),
        ("[dyn(duration('1s')), dyn(timestamp(1))].sum()", 'timestamp("1970-01-01T00:00:02Z")'),
        ("[dyn('a')].sum()", "error: no such overload: sum(list)"),
        ("['b', 'a'].min()", '"a"'),
        ("[b'aa', b'b'].max()", 'b"b"'),
        ("[dyn(1), dyn(2.5)].max()", "2.5"),
        ("[dyn(1), dyn('a')].max()", "1"),
        ("[dyn(1.0), dyn(1)].min()", "1.0"),
        ("[double('NaN'), 1.0].min()", 'double("NaN")'),
        ("dyn([]).min()", "error: min called on empty list"),
        ("[].max()", "error: max called on empty list"),
        ("[dyn(1), dyn(2)].indexOf(2.0)", "1"),
        ("[[1], [2]].indexOf([2])", "1"),
        ("[1, 2, 1].lastIndexOf(1)", "2"),
        ("[1].lastIndexOf(9)", "-1"),
        ("[quantity('1').add(0)].indexOf(quantity('1'))", "0"),
        ("[quantity('1')].indexOf(quantity('1').add(0))", "-1"),
    ],
)
def test_kubernetes_lists(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


def test_a_zero_belongs_to_the_type_of_the_list() -> None:
    assert answer(LIBRARY, "list_uint_sum_uint", [[]]) == ("Uint", 0)
    assert answer(LIBRARY, "list_double_sum_double", [[]]) == ("float", "0.0")
    sums = [each for each in LIBRARY.overloads if each.function == "sum"]
    assert len(sums) == 4
    assert sums[0].returns == INT


@pytest.mark.parametrize(
    ("values", "cost"),
    [
        ([1, 2, 3], 3),
        ([], 0),
        (["x" * 25, "é" * 5], 3),
        ([b"x" * 30], 3),
        ([[1, {"key": "value"}]], 1),
    ],
)
def test_a_list_costs_what_it_holds(values: list[Value], cost: int) -> None:
    index_of = LIBRARY.overloads[-1]
    assert index_of.cost is not None
    assert index_of.cost([values, 1], -1) == cost
