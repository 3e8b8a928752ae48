import errno
from typing import NoReturn

import click
import pytest

from chartkit.cli import boundary
from chartkit.errors import DEBUG, BugError, ChartkitError, CompileError, InputError
from chartkit.model import Diagnostic, Location, Severity


def run(error: BaseException) -> int:
    def command() -> NoReturn:
        raise error

    return boundary.run(command)


def test_an_error_is_one_line_with_place_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    error = InputError("is wrong\nin two lines", Location("a.yaml", 3, 5), "mend it")
    assert run(error) == 2
    captured = capsys.readouterr()
    assert captured.err == "a.yaml:3:5: is wrong in two lines (mend it)\n"
    assert captured.out == ""


def test_every_diagnostic_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = [Diagnostic("CK1", Severity.ERROR, text, Location("a", 1)) for text in ("x", "y")]
    assert run(CompileError(found)) == 2
    assert capsys.readouterr().err == "a:1: error CK1: x\na:1: error CK1: y\n"


def test_an_error_chooses_its_exit_code() -> None:
    class FailedError(ChartkitError):
        exit_code = 1

    assert run(FailedError("no")) == 1


@pytest.mark.parametrize("error", [click.UsageError("no"), click.FileError("f", "no")])
def test_boundary_usage_errors(
    error: click.ClickException, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(error) == 2
    assert "no" in capsys.readouterr().err


def test_a_wrong_command_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    @click.argument("kind", type=click.Choice(["a", "b"]))
    def command(kind: str) -> None: ...

    def call() -> None:
        command.main([], prog_name="chartkit x", standalone_mode=False)

    assert boundary.run(call) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("chartkit x: Missing argument ")
    assert said[0].endswith("(`chartkit x --help` shows the usage)")


def test_a_command_that_only_prints_says_so_for_a_dry_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    @click.option("--yes", is_flag=True, help="Do it; without this option it is only printed.")
    def command(yes: bool) -> None: ...

    def call() -> None:
        command.main(["--dry-run"], prog_name="chartkit x", standalone_mode=False)

    assert boundary.run(call) == 2
    assert "'--dry-run'. --yes: Do it; without this" in capsys.readouterr().err


def test_a_full_disk_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(OSError(errno.ENOSPC, "No space left on device")) == 2
    assert capsys.readouterr().err == "the output: No space left on device\n"
    assert run(OSError(errno.ENOSPC, "No space left on device", "a.yaml")) == 2
    assert capsys.readouterr().err == "a.yaml: No space left on device\n"
    assert run(OSError(errno.EBADF, "Bad file descriptor")) == 3


def test_anything_else_is_a_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    assert run(ZeroDivisionError("by\nzero")) == 3
    captured = capsys.readouterr().err
    assert captured.startswith("chartkit: a bug, not your mistake: ZeroDivisionError: by zero")
    assert "Traceback" not in captured
    monkeypatch.setenv(DEBUG, "1")
    run(ZeroDivisionError("again"))
    assert "Traceback" in capsys.readouterr().err


def test_a_bug_with_the_place_of_its_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    bug = BugError("a bug, not your mistake: KeyError: 'x'", Location("p.yaml", 3))
    assert run(bug) == 3
    assert capsys.readouterr().err == "p.yaml:3: a bug, not your mistake: KeyError: 'x'\n"
    monkeypatch.setenv(DEBUG, "1")
    run(bug)
    assert "Traceback" in capsys.readouterr().err


def test_an_interruption() -> None:
    assert run(KeyboardInterrupt()) == 130


def test_all_good() -> None:
    assert boundary.run(lambda: None) == 0
