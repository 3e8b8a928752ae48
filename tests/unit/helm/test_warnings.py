"""What Helm warns of comes through, with the library and with the program."""

import pytest

from chartkit.helm.model import warnings
from chartkit.helm.render import WARNING_RULE, lint_chart, render_chart
from chartkit.model import Severity
from tests.unit.helm.conftest import Write

_SKIPPED = "skipped value for demo.l: Not a table."
_IGNORED = "destination for l is a table. Ignoring non-table value (3)"


@pytest.mark.usefixtures("backend")
def test_a_value_of_another_type(chart: Write) -> None:
    folder = chart({"values.yaml": "l: 3\nm: 4\n"})
    for _ in range(2):
        (found,) = render_chart(folder, [{"l": {"a": 1}}]).warnings
        assert (found.rule_id, found.severity) == (WARNING_RULE, Severity.NOTE)
        assert found.message == f"Helm warns: {_SKIPPED}"
        assert found.location is not None
        assert found.location.file == str(folder)
    assert render_chart(folder, [{"l": 5}]).warnings == ()


@pytest.mark.usefixtures("backend")
def test_lint_warns_of_more(chart: Write) -> None:
    folder = chart({"values.yaml": "l: 3\n"})
    found = [one for one in lint_chart(folder, [{"l": {"a": 1}}]) if one.rule_id == WARNING_RULE]
    assert {one.message for one in found} >= {f"Helm warns: {_SKIPPED}", f"Helm warns: {_IGNORED}"}


@pytest.mark.usefixtures("backend")
def test_a_value_is_shown_as_text(chart: Write) -> None:
    folder = chart({"values.yaml": 'l: "x\\u001b[31m\\n::error::forged"\n'})
    found = lint_chart(folder, [{"l": {"a": 1}}])
    text = "".join(one.message for one in found if one.rule_id == WARNING_RULE)
    assert "Ignoring non-table value (x" in text
    assert text.isprintable()


def test_the_forms_of_a_line() -> None:
    for line in (
        "2026/01/02 03:04:05 warning: a b",
        "2026/01/02 03:04:05 WARN a b",
        "coalesce.go:286: warning: a b",
        "2026/01/02 03:04:05 coalesce.go:286: warning: a b",
        'level=INFO msg="warning: a b"',
        'level=WARN msg="a b"',
        'time=2026-01-02T03:04:05.000Z level=WARN msg="a b"',
        "WARNING: a b",
    ):
        assert warnings(f"x\n{line}\nError: y\n") == ("a b",), line
    assert warnings('level=WARN msg="a b" path="c d"') == ('a b path="c d"',)
    assert warnings('level=WARN msg="a \\x1b b"') == ("a \\x1b b",)
    for line in (
        'level=INFO msg="a b"',
        "walk.go:75: found symbolic link",
        "Error: warning: a",
        "",
    ):
        assert warnings(line) == ()


def test_they_are_bounded_sorted_and_shown() -> None:
    log = "".join(f"WARNING: {number:03}\n" for number in reversed(range(500))) * 2
    found = warnings(log)
    assert found[0] == "000"
    assert found[-1] == "and 480 more"
    assert len(found) == 21
    (long,) = warnings(f"WARNING: {'x' * 10_000}")
    assert len(long) == 301
    (hostile,) = warnings("WARNING: a\x1b[31m::b\u202e")
    assert hostile == "a\\u001b[31m::b\\u202e"
