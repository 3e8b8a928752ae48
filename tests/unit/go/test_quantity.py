"""Quantities: reading, printing, comparing, arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.go.quantity import Format, Quantity, QuantityError
from tests.data import from_table


@from_table("text", "canonical")
def test_prints_as_kubernetes(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize("text", ["", "x", "1x", "1kk", "1 Gi", "1e", "1e3.5", "--1", "Ei", "5min"])
def test_refuses_what_is_no_quantity(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


def test_refuses_numbers_nobody_needs() -> None:
    with pytest.raises(QuantityError):
        Quantity.parse("1" * 5000)
    with pytest.raises(QuantityError):
        Quantity.parse("1e2000000") + Quantity.parse("1")


@from_table("left", "right", "order")
def test_compares_by_value(left: str, right: str, order: int) -> None:
    first, second = Quantity.parse(left), Quantity.parse(right)
    assert first.compare(second) == order
    assert (first < second, first == second, first > second) == (order < 0, order == 0, order > 0)
    if not order:
        assert hash(first) == hash(second)


@from_table("left", "right", "total", "difference")
def test_adds_and_subtracts(left: str, right: str, total: str, difference: str) -> None:
    first, second = Quantity.parse(left), Quantity.parse(right)
    assert (str(first + second), str(first - second)) == (total, difference)


@pytest.mark.parametrize(
    ("left", "right", "quotient"),
    [("10", "3", "3"), ("1", "3", "0"), ("1.0", "3", "300m"), ("-7", "2", "-3")],
)
def test_divides_to_the_finer_scale(left: str, right: str, quotient: str) -> None:
    assert str(Quantity.parse(left) / Quantity.parse(right)) == quotient


def test_becomes_a_float() -> None:
    assert float(Quantity.parse("1500m")) == 1.5
    assert float(Quantity.parse("1e400")) == math.inf


@given(st.integers(-(2**62), 2**62), st.sampled_from(["", "m", "k", "Ki", "Mi", "e3"]))
def test_quantity_reads_what_it_prints(number: int, suffix: str) -> None:
    quantity = Quantity.parse(f"{number}{suffix}")
    printed = str(Quantity(quantity.unscaled, quantity.exponent, quantity.format))
    if quantity.format is not Format.BINARY_SI or abs(float(quantity)) < 2.0**63:
        assert Quantity.parse(printed) == quantity
