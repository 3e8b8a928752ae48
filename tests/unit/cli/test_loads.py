"""The rooms and libraries that each command loads before it has work, and a scan for its own."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from chartkit import __version__
from chartkit.cli.main import commands
from chartkit.model import Body
from chartkit.project.project import read_project
from chartkit.render.cache import cached_result
from chartkit.render.model import RenderResult
from tests.data import beside

ROOT = Path(__file__).parents[3]

_BASE = frozenset({"cli", "errors", "model", "safe_text", "suggestions"})
_DECLARED = frozenset({"addon", "addons", "registration"})
"""The commands of add-ons."""
_OUTPUT = _DECLARED | {"atomic", "report", "scan"}
"""Options of outputs and of scans, which only declare."""
_CLICK = frozenset({"click"})
_MORE = {
    "check-compat": {"documents", "go", "helm", "kyverno", "output", "project", "render", "schemas"}
    | {"temporary", "jmespath", "semver", "wording", "yaml", "cython_runtime"},
    "explain": {"charts", "documents", "go", "helm", "kyverno", "registration", "schemas", "values"}
    | {"yaml", "cython_runtime"},
    **dict.fromkeys(
        ("migrate", "plan"),
        {"documents", "engine", "go", "kyverno", "registration", "schemas"}
        | {"re2", "wording", "yaml", "cython_runtime"},
    ),
}
"""What further commands may load for their help: a plan takes the inputs of a migration."""
_SCRIPT = """
import json, sys
from chartkit.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps([*sys.modules]), file=sys.stderr)
"""
_POLICY = beside(__file__)["policy"]
_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostIPC: true}\n"
_NOT_FOR_A_SCAN = (
    *("ssl", "urllib3", "http", "socketserver", "cryptography", "jinja2", "jsonschema", "rich"),
    *("kubernetes", "chartkit.engine.cel", "chartkit.library"),
    *("chartkit.addons.migrate.conversion", "chartkit.addons.serve.admission"),
    *("chartkit.project", "chartkit.network.http.urls", "chartkit.network.registry.client"),
    *(
        f"chartkit.engine.cluster_policy.{kind}"
        for kind in ("generate", "manifests", "mutate", "podsecurity", "verify_images")
    ),
)


def loaded(*arguments: str, cwd: Path | None = None) -> list[str]:
    """Return the modules that a command has loaded at its end."""
    command = [sys.executable, "-c", _SCRIPT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=True)
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return modules


def rooms(modules: list[str]) -> set[str]:
    """Return chartkit's top-level packages and the libraries of modules."""
    own = {each.split(".")[1] for each in modules if each.startswith("chartkit.")}
    libraries = {each.split(".")[0] for each in modules} - sys.stdlib_module_names
    return own | {each for each in libraries if not each.startswith("_")} - {"chartkit"}


def test_the_version_loads_the_command_line_alone() -> None:
    modules = loaded("--version")
    assert rooms(modules) <= _BASE | _CLICK | _DECLARED
    assert not {"shutil", "traceback", "subprocess", "ssl", "yaml"} & {*modules}


def test_the_version_by_itself_loads_no_command_line() -> None:
    """As the script does that is installed."""
    script = _SCRIPT.replace("chartkit.cli.main", "chartkit.__main__").replace(
        "main(sys.argv[1:])", "main()"
    )
    command = [sys.executable, "-c", script, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"chartkit {__version__}\n"
    modules = json.loads(done.stderr.splitlines()[-1])
    assert rooms(modules) == {"__main__"}
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert set(scripts.values()) == {"chartkit.__main__:main"}


def test_the_api_loads_its_own_types_alone() -> None:
    code = "import json, sys, chartkit.api; print(json.dumps([*sys.modules]))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert rooms(json.loads(done.stdout)) == {"api", "errors", "model", "safe_text"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("stdout", ["/dev/full", ""])
def test_the_version_that_nobody_can_read(stdout: str) -> None:
    redirection = f">{stdout}" if stdout else ">&-"
    shell = f'"{sys.executable}" -m chartkit --version {redirection}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) in {(0, 0), (2, 1)}


@pytest.mark.parametrize("command", commands())
def test_a_command_loads_its_options(command: str) -> None:
    found = rooms(loaded(command, "--help"))
    assert found <= _BASE | _CLICK | _OUTPUT | _MORE.get(command, frozenset())


def assert_light(modules: list[str]) -> None:
    heavy = [
        name
        for name in _NOT_FOR_A_SCAN
        if any(each == name or each.startswith(f"{name}.") for each in modules)
    ]
    assert not heavy


def test_a_scan_loads_what_its_policies_have(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "pod.yaml").write_text(_POD)
    modules = loaded("scan", "pod.yaml", "--policies", "policy.yaml", cwd=tmp_path)
    assert "chartkit.engine.cluster_policy.validate" in modules
    assert_light(modules)


def test_a_render_of_what_is_known_loads_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CHARTKIT_HELM", "library")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "chartkit.yaml").write_text(
        'environments: {dev: {kyverno: "1.19", kubernetes: "1.34"}}\n'
    )
    monkeypatch.chdir(folder)
    options: Body = {"environments": ["dev"], "prefer": None, "check": True, "kustomize": False}
    result = RenderResult((), is_repeatable=True)
    cached_result(read_project(Path()), (), options, lambda: result)
    modules = loaded("render", "--check", cwd=folder)
    assert "chartkit.render.cache" in modules
    heavy = ("jinja2", "chartkit.engine", "chartkit.charts", "chartkit.library")
    assert not [each for each in modules if each.startswith(heavy)]


def test_a_scan_of_changes_loads_no_client(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "pod.yaml").write_text(_POD)
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "a"]):
        settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *settings, *command], cwd=tmp_path, check=True)
    (tmp_path / "pod.yaml").write_text(_POD.replace("name: a", "name: b"))
    changes = ("--changed-since", "HEAD")
    modules = loaded("scan", "pod.yaml", "-p", "policy.yaml", *changes, cwd=tmp_path)
    assert "chartkit.network.downloads.checkout" in modules
    assert_light(modules)
