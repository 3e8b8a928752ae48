"""The files with which pipelines run chartkit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from chartkit.cli.main import cli
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.model import Body

ROOT = Path(__file__).parents[2]
HOOKS: list[Body] = parse_yaml((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PRIVILEGED = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec:
  hostNetwork: true
  containers: [{name: c, image: x}]
"""


@pytest.mark.parametrize("hook", HOOKS, ids=[each["id"] for each in HOOKS])
def test_a_hook_runs_a_command_that_is_there(hook: Body) -> None:
    program, *words = hook["entry"].split()
    assert program == "chartkit"
    command: click.Command = cli
    for word in (each for each in words if not each.startswith("-")):
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None, word
        command = found
    options = {option for each in command.params for option in each.opts}
    given = {each.partition("=")[0] for each in words if each.startswith("-")}
    assert given <= options


def test_the_page_names_every_hook() -> None:
    page = (ROOT / "docs" / "how-to" / "pipelines.md").read_text("utf-8")
    assert all(f"| `{each['id']}` |" in page for each in HOOKS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize("arguments", ["scan pod.yaml -p pss-baseline", "scan\npod.yaml -p $(id)"])
def test_the_action_keeps_the_exit_code_and_reads_no_shell(tmp_path: Path, arguments: str) -> None:
    steps = read_file(ROOT / "action.yml")[0].body["runs"]["steps"]
    [script] = [each["run"] for each in steps if each.get("id") == "run"]
    programs = tmp_path / "chartkit" / "bin"
    programs.mkdir(parents=True)
    (programs / "chartkit").symlink_to(Path(sys.executable).with_name("chartkit"))
    (tmp_path / "pod.yaml").write_text(PRIVILEGED)
    output = tmp_path / "output"
    environment = {
        "ARGUMENTS": arguments,
        "SARIF": "found.sarif",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "$" in arguments:
        assert done.returncode == 2
        assert "$(id)" in done.stderr
    else:
        assert done.returncode == 1, done.stderr
        assert "::error file=pod.yaml,line=5" in done.stdout
        assert (tmp_path / "found.sarif").is_file()
    assert output.read_text() == f"exit-code={done.returncode}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["completion", shell], prog_name="chartkit", standalone_mode=False)
    assert f"_CHARTKIT_COMPLETE={shell}_complete" in capsys.readouterr().out
