import subprocess
import sys
from pathlib import Path

import pytest

import chartkit as package
from chartkit.cli.main import commands
from tests.e2e.command import started as chartkit


def test_e2e_command_version(tmp_path: Path) -> None:
    assert chartkit(tmp_path, "--version").out == f"chartkit {package.__version__}\n"


def test_help_names_every_command(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "--help")
    assert done.code == 0
    for name in commands():
        assert f"  {name}" in done.out


@pytest.mark.parametrize("command", commands())
def test_every_command_has_help(tmp_path: Path, command: str) -> None:
    done = chartkit(tmp_path, command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: chartkit {command}")


@pytest.mark.slow
def test_an_unknown_command(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "rendr")
    assert done.code == 2
    assert "there is no command 'rendr': did you mean 'render'?" in done.err


def test_starting_imports_nothing_heavy() -> None:
    heavy = ["helm_python", "jsonschema", "jinja2", "yaml", "re2", "jmespath", "rich"]
    program = (
        "import sys\n"
        "from chartkit.cli import main\n"
        "try:\n    main(['--version'])\n"
        "except SystemExit:\n    pass\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_package_is_the_command_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chartkit", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("chartkit ")


_WAITING = """\
import atexit, sys
import chartkit.cli
run = chartkit.cli.main
def waiting():
    atexit.register(print, "done")
    run()
chartkit.cli.main = waiting
from chartkit.__main__ import main
main()
"""


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("rendr", 2)])
def test_what_waits_for_the_end_is_done_and_the_exit_code_stays(argument: str, code: int) -> None:
    command = [sys.executable, "-c", _WAITING, argument]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.endswith("done\n")) == (code, True)
    assert ("Usage:" in done.stdout) is (code == 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_output_that_cannot_be_written_at_the_end_is_no_success() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "chartkit", "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode != 0
    assert "No space left on device" in done.stderr
