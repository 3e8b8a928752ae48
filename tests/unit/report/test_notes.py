"""Notes of one kind are one line."""

from chartkit.model import Diagnostic, Location, Severity
from chartkit.report.text.layout import grouped


def _row(message: str, line: int, severity: Severity = Severity.NOTE) -> Diagnostic:
    return Diagnostic("x", severity, message, Location("f.yaml", line), "do it")


def _lines(*rows: Diagnostic, lists_all: bool = False) -> list[str]:
    return [str(each) for each in grouped(rows, lists_all)]


def test_notes_of_one_kind_are_one_line_with_their_number() -> None:
    rows = [
        _row(f"Release 'r{at}': its chart is at oci://a/{at}: not scanned", at)
        for at in (1, 2, 3, 4)
    ]
    other = _row("something else", 9)
    assert _lines(rows[0], other, *rows[1:]) == [
        "f.yaml:1: note x: Release 'r1': its chart is at oci://a/1: not scanned; "
        "3 more of the kind, such as f.yaml:2 and f.yaml:3 (do it; --detailed lists all)",
        "f.yaml:9: note x: something else (do it)",
    ]
    assert _lines(rows[0], other, *rows[1:], lists_all=True) == list(
        map(str, [rows[0], other, *rows[1:]])
    )


def test_two_notes_and_errors_have_a_line_each() -> None:
    assert len(_lines(_row("a 1", 1), _row("a 2", 2))) == 2
    assert len(_lines(*(_row("a", at, Severity.ERROR) for at in range(9)))) == 9
    mixed = [
        _row("a", 1),
        _row("a", 2, Severity.WARNING),
        _row("a", 3),
        _row("a", 4, Severity.WARNING),
    ]
    assert len(_lines(*mixed)) == 4


def test_names_before_a_message_differ_within_a_kind() -> None:
    rows = [_row(f"policy-{at}: matches all Pods", at) for at in (1, 2, 3)]
    [line] = grouped(rows, severities=(Severity.NOTE,), more="-o json")
    assert str(line).endswith(
        "2 more of the kind, such as f.yaml:2 and f.yaml:3 (do it; -o json lists all)"
    )
    warnings = [_row("same", at, Severity.WARNING) for at in (1, 2, 3)]
    assert len(list(grouped(warnings, severities=(Severity.NOTE,)))) == 3


def test_each_place_is_named_once() -> None:
    rows = [_row(f"'a{at}': not scanned", line) for at, line in enumerate((1, 1, 2, 2, 3))]
    [line] = _lines(*rows)
    assert "4 more of the kind, such as f.yaml:2 and f.yaml:3 (" in line
    [line] = _lines(*(_row(f"'a{at}': not scanned", 1) for at in range(3)))
    assert "2 more of the kind (" in line
