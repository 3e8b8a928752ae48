import io
import itertools
import os
import sys

import pytest

from chartkit.cli import terminal
from tests.data import from_table


@from_table("shown", "environment", "wanted")
def test_terminal_colours(
    shown: bool, environment: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: shown)
    assert terminal.wants_colour() is wanted


def test_a_closed_stream_takes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    terminal.open_closed()
    with sys.stdout:
        assert sys.stdout.write("into nothing") > 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.01, False), (0.4, True)])
def test_a_bar_comes_after_a_second_of_work(
    seconds: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0, seconds)
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr("chartkit.cli.terminal.time.monotonic", clock.__next__)
    assert list(terminal.track("checking")(range(20))) == list(range(20))
    text = stderr.getvalue()
    assert ("checking" in text) is is_shown
    assert ("100%" in text) is is_shown
    assert ("\x1b[?25h" in text) is is_shown


def test_a_bar_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr("chartkit.cli.terminal.time.monotonic", itertools.count(0, 5).__next__)
    assert list(terminal.track("checking")(range(3))) == [0, 1, 2]
    assert not stderr.getvalue()


def test_messages_to_a_terminal_are_folded_and_data_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((20, 9)))
    with terminal.guarded():
        for stream in (sys.stderr, terminal.unfolded(sys.stderr)):
            stream.write("a word and another one\n")
    assert stderr.getvalue() == "a word and another\n    one\na word and another one\n"
