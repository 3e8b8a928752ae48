"""Quantities: what counts as an integer, sums in the right format, and refused comparisons."""

from chartkit.engine.cel.library.kubernetes.quantity import parse_quantity
from tests.data import from_table
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@from_table("expression", "expected")
def test_quantities_in_cel(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


def test_a_sum_that_would_need_a_thousand_digits_is_refused() -> None:
    numeric = "error: unable to parse numeric part of quantity"
    assert comes_to("quantity('1e5000').add(1)") == numeric
    assert comes_to("quantity('1e5000').isGreaterThan(quantity('1'))") == "true"


def test_equal_quantities_have_one_hash() -> None:
    assert parse_quantity("1Gi") == parse_quantity("1024Mi")
    assert hash(parse_quantity("1Gi")) == hash(parse_quantity("1024Mi"))
    assert parse_quantity("1Gi") != "1Gi"
