"""Order, sums and positions in lists, members of several types included."""

from chartkit.engine.cel.library.kubernetes.lists import LIBRARY
from chartkit.engine.cel.types import INT
from chartkit.engine.cel.values import Value
from tests.data import from_table
from tests.unit.engine.cel.library.calls import answer
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@from_table("expression", "expected")
def test_kubernetes_lists(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


def test_a_zero_belongs_to_the_type_of_the_list() -> None:
    assert answer(LIBRARY, "list_uint_sum_uint", [[]]) == ("Uint", 0)
    assert answer(LIBRARY, "list_double_sum_double", [[]]) == ("float", "0.0")
    sums = [each for each in LIBRARY.overloads if each.function == "sum"]
    assert len(sums) == 4
    assert sums[0].returns == INT


@from_table("values", "cost")
def test_a_list_costs_what_it_holds(values: list[Value], cost: int) -> None:
    index_of = LIBRARY.overloads[-1]
    assert index_of.cost is not None
    assert index_of.cost([values, 1], -1) == cost
