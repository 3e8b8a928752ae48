"""The files with which pipelines run chartkit."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from chartkit.cli.main import cli
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.model import Body
from tests.e2e.command import chartkit

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
    done = run_action(tmp_path, arguments)
    if "$" in arguments:
        assert done.returncode == 2
        assert "$(id)" in done.stderr
    else:
        assert done.returncode == 1, done.stderr
        assert "::error file=pod.yaml,line=5" in done.stdout
        assert (tmp_path / "found.sarif").is_file()
    assert (tmp_path / "output").read_text() == f"exit-code={done.returncode}\n"


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize(
    ("arguments", "annotation"),
    [
        ("policies lint legacy.yaml", "::warning file=legacy.yaml,line=7,"),
        ("values lint values.yaml", "::error file=values.yaml,line=1,"),
        ("migrate plan legacy.yaml", "file=legacy.yaml,line=6,"),
    ],
)
def test_the_action_annotates_commands_of_two_words(
    tmp_path: Path, arguments: str, annotation: str
) -> None:
    (tmp_path / "legacy.yaml").write_text(LEGACY)
    (tmp_path / "values.yaml").write_text("reportController: {}\n")
    done = run_action(tmp_path, arguments)
    assert annotation in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "found.sarif").is_file()


def run_action(tmp_path: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the action's step as a runner does."""
    steps = read_file(ROOT / "action.yml")[0].body["runs"]["steps"]
    [script] = [each["run"] for each in steps if each.get("id") == "run"]
    programs = tmp_path / "chartkit" / "bin"
    programs.mkdir(parents=True)
    (programs / "chartkit").symlink_to(Path(sys.executable).with_name("chartkit"))
    (tmp_path / "pod.yaml").write_text(PRIVILEGED)
    environment = {
        "ARGUMENTS": arguments,
        "SARIF": "found.sarif",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


FORMATS = (
    "json",
    "ndjson",
    "sarif",
    "github",
    "gitlab",
    "azure",
    "junit",
    "markdown",
    "csv",
    "html",
)
ANNOTATED = {
    "scan": ["scan", "pod.yaml", "-p", "pss-baseline"],
    "render": ["render", "--check", "dev", "--project", "project"],
    "test": ["test", "tests"],
    "diff": ["diff", "--from", "qa", "--to", "prd", "--project", str(ROOT)],
    "values lint": ["values", "lint", "values.yaml"],
    "policies lint": ["policies", "lint", "legacy.yaml"],
    "policies check": ["policies", "check", "policies"],
    "migrate plan": ["migrate", "plan", "legacy.yaml"],
    "migrate policies": ["migrate", "policies", "legacy.yaml", "--check", "--budget", "100ms"],
    "plan": ["plan", "--from", "1.12/1.27", "--to", "1.18/1.34"],
    "check-compat": ["check-compat", "--kyverno", "1.12", "--kubernetes", "1.34"],
}
LEGACY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Podd]}}]}
    validate: {message: a team, pattern: {metadata: {labels: {team: "?*"}}}}
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something to find for every command."""
    root = tmp_path_factory.mktemp("checkout")
    policy = "policies/category/bad"
    for folder in ("tests", policy, "project"):
        (root / folder).mkdir(parents=True)
    texts = {
        "pod.yaml": PRIVILEGED,
        "legacy.yaml": LEGACY,
        "values.yaml": "reportController: {}\n",
        f"{policy}/policy.yaml": LEGACY,
        "tests/kyverno-test.yaml": "a: [",
    }
    for name, text in texts.items():
        (root / name).write_text(text)
    chartkit(root / "project", "init")
    return root


@pytest.mark.parametrize("name", ANNOTATED)
def test_every_command_writes_every_format(checkout: Path, tmp_path: Path, name: str) -> None:
    outputs = [each for kind in FORMATS for each in ("-o", f"{kind}={tmp_path / kind}")]
    done = chartkit(checkout, *ANNOTATED[name], *outputs)
    assert done.code in (0, 1, 2), done.err
    found = {kind: (tmp_path / kind).read_text("utf-8") for kind in FORMATS}
    assert json.loads(found["sarif"])["version"] == "2.1.0"
    assert json.loads(found["json"])["schemaVersion"] == 1
    assert isinstance(json.loads(found["gitlab"]), list)
    assert list(csv.DictReader(io.StringIO(found["csv"]))) or not json.loads(found["gitlab"])
    assert ElementTree.fromstring(found["junit"]).tag == "testsuites"
    assert found["html"].startswith("<!DOCTYPE html>")
    assert found["github"].splitlines()[-1].startswith("chartkit: ")
    assert found["markdown"]
    assert all(map(json.loads, found["ndjson"].splitlines()))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["completion", shell], prog_name="chartkit", standalone_mode=False)
    assert f"_CHARTKIT_COMPLETE={shell}_complete" in capsys.readouterr().out
