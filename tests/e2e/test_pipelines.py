"""The files with which pipelines run chartkit."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from chartkit.cli.main import cli
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body
from tests.data import beside, from_table
from tests.e2e.command import chartkit

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HOOKS: list[Body] = parse_yaml((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PRIVILEGED = beside(__file__)["privileged"]


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
@from_table("arguments", "annotation")
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
    "migrate policies": ["migrate", "policies", "legacy.yaml", "--check", "--proof-seconds", "0.1"],
    "plan": ["plan", "--from", "1.12/1.27", "--to", "1.18/1.34"],
    "check-compat": ["check-compat", "--kyverno", "1.12", "--kubernetes", "1.34"],
}
LEGACY = beside(__file__)["legacy"]


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


PAGE = (ROOT / "docs" / "how-to" / "pipelines.md").read_text("utf-8")
COMPONENT = ROOT / "templates" / "chartkit" / "template.yml"


def blocks() -> list[Body]:
    """The YAML that the page shows."""
    found = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    return [parse_yaml(text) for text in found]


def component() -> Body:
    """The job of the GitLab component, with the inputs of the page or their defaults."""
    [include] = next(each["include"] for each in blocks() if "include" in each)
    header, job = read_file(COMPONENT)
    inputs = header.body["spec"]["inputs"]
    given = {name: each.get("default") for name, each in inputs.items()} | include["inputs"]
    assert given.keys() == inputs.keys()
    text = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda name: given[name[1]], dump_yaml(job.body))
    body: Body = parse_yaml(text)["chartkit"]
    return body


def scripts() -> dict[str, list[str]]:
    """The lines of shell that a server runs for each recipe."""
    azure = next(each for each in blocks() if "steps" in each)
    [docker] = re.findall(r"^docker run (.*)$", PAGE, flags=re.MULTILINE)
    options, _, arguments = docker.partition(" chartkit ")
    assert options == '--rm -v "$PWD:/work:ro"'
    return {
        "GitLab's component": component()["script"],
        "GitLab": next(each["policies"]["script"] for each in blocks() if "policies" in each),
        "Azure": [line for each in azure["steps"] for line in each.get("script", "").splitlines()],
        "Docker": [f"chartkit {arguments}"],
    }


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize("recipe", ["GitLab's component", "GitLab", "Azure", "Docker"])
def test_recipes_do_what_they_are_shown_for(tmp_path: Path, recipe: str) -> None:
    """What installs is left out; the files that the recipes name for the server are there."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "pod.yaml").write_text(PRIVILEGED)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "chartkit").symlink_to(Path(sys.executable).with_name("chartkit"))
    lines = [each for each in scripts()[recipe] if "pip install" not in each]
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert "hostNetwork" in done.stdout
    written = {each.name for each in tmp_path.iterdir()} - {"bin", "manifests"}
    assert (
        written
        == {
            "GitLab's component": set(component()["artifacts"]["reports"].values()),
            "GitLab": {"gl-code-quality.json"},
            "Azure": {"chartkit.xml"},
            "Docker": set(),
        }[recipe]
    )
    if recipe == "Azure":
        assert "##vso[task.logissue type=error;sourcepath=manifests/pod.yaml" in done.stdout


def test_the_image_runs_chartkit_without_root() -> None:
    """The stages of the Dockerfile copy what is there, and the last one runs as nobody."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [each.split(None, 1) for each in text.splitlines() if each and each[0] != "#"]
    last = lines[max(at for at, each in enumerate(lines) if each[0] == "FROM") :]
    given = dict(last)
    assert json.loads(given["ENTRYPOINT"]) == ["chartkit"]
    assert int(given["USER"].partition(":")[0]) > 0
    made = " ".join(rest for word, rest in lines if word == "RUN")
    source, target = given["COPY"].split()[1:]
    assert source == target
    assert f"{source}/bin/chartkit --version" in made
    assert f"PATH={source}/bin:" in given["ENV"]
    for shell in (rest for word, rest in lines if word == "RUN"):
        assert subprocess.run(["sh", "-n", "-c", shell], check=False).returncode == 0
