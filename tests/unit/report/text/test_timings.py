"""What policies took, as rows for programs and as a table."""

from chartkit.report.text.timings import timing_lines, timing_rows

_TIMES = (
    (("quick", "", ""), (4, 1_000_000)),
    (("slow", "first", ""), (4, 2_000_000)),
    (("slow", "second", ""), (2, 5_000_000)),
    (("slow", "second", "names"), (2, 4_000_000)),
)


def test_rows_are_in_order_of_time_with_rules_below_their_policies() -> None:
    assert timing_rows(_TIMES) == [
        {"policy": "slow", "milliseconds": 7.0, "share": 0.875},
        {
            "policy": "slow",
            "rule": "second",
            "milliseconds": 5.0,
            "objects": 2,
            "mean": 2.5,
            "share": 0.625,
        },
        {
            "policy": "slow",
            "rule": "second",
            "entry": "names",
            "milliseconds": 4.0,
            "objects": 2,
            "mean": 2.0,
            "share": 0.5,
        },
        {
            "policy": "slow",
            "rule": "first",
            "milliseconds": 2.0,
            "objects": 4,
            "mean": 0.5,
            "share": 0.25,
        },
        {"policy": "quick", "milliseconds": 1.0, "objects": 4, "mean": 0.25, "share": 0.125},
    ]


def test_the_table_has_a_line_for_each_row() -> None:
    lines = timing_lines(timing_rows(_TIMES), None)
    assert [line.split() for line in lines[2:]] == [
        ["slow", "7.0", "87.5%"],
        ["second", "2", "5.0", "2.500", "62.5%"],
        ["names", "2", "4.0", "2.000", "50.0%"],
        ["first", "4", "2.0", "0.500", "25.0%"],
        ["quick", "4", "1.0", "0.250", "12.5%"],
    ]


def test_nothing_is_shown_of_nothing() -> None:
    assert timing_rows(()) == []
    assert timing_lines([], None) == []
