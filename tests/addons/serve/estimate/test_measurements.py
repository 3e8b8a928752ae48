"""Upstream's measurements, and what follows from them between and beyond them."""

import pytest

from chartkit.addons.serve.estimate.measurements import MEBIBYTE, MEGABYTE, measurements
from tests.data import from_table


@from_table("reports", "megabytes", "mebibytes")
def test_what_was_measured_is_as_it_was_measured(
    reports: int, megabytes: int, mebibytes: int
) -> None:
    known = measurements()
    assert known.etcd.at(reports).value == megabytes * MEGABYTE
    assert known.memory.at(reports).value == mebibytes * MEBIBYTE
    assert known.etcd.at(reports).basis == f"measured at {reports:,} reports"


def test_between_two_measurements_lies_the_line_that_joins_them() -> None:
    found = measurements().etcd.at((7319 + 10254) // 2)
    assert found.value == pytest.approx((431 + 483) / 2 * MEGABYTE, rel=1e-3)
    assert found.basis == "between the measurements at 7,319 and 10,254 reports"


@from_table("reports", "megabytes", "basis")
def test_beyond_the_measurements_their_growth_goes_on(
    reports: int, megabytes: int, basis: str
) -> None:
    found = measurements().etcd.at(reports)
    assert found.value / MEGABYTE == pytest.approx(megabytes, rel=0.01)
    assert found.basis == basis


def test_a_report_costs_what_it_cost_when_it_was_measured() -> None:
    known = measurements()
    assert known.etcd.slope == pytest.approx(12_300, rel=0.03)
    assert known.memory.slope == pytest.approx(6 * 1024, rel=0.05)
    assert known.memory.at(0).value / MEBIBYTE == pytest.approx(91, abs=1)


def test_more_reports_never_cost_less() -> None:
    known = measurements()
    for curve in (known.etcd, known.memory):
        values = [curve.at(reports).value for reports in range(0, 20_000, 97)]
        assert values == sorted(values)
