"""Paths that no command can use: a link to itself, and a file where a folder is to be."""

from pathlib import Path

import pytest

from chartkit.cli.main import main
from tests.errors import error_of

_POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {deny: {}}}]}
"""
_PROJECT = """\
profiles: [pss-baseline]
environments: {dev: {kyverno: "1.19", kubernetes: "1.34", action: Audit}}
"""
_SCAN = ("scan", "p.yaml", "-p", "p.yaml")
_COMMANDS: tuple[tuple[str, ...], ...] = (
    (*_SCAN, "-o", "json=PATH"),
    (*_SCAN, "--update-baseline", "--baseline", "PATH"),
    (*_SCAN, "--at", "now", "-o", "junit=PATH/r.xml"),
    ("values", "migrate", "v.yaml", "-o", "PATH/v.yaml"),
    ("migrate", "policies", "p.yaml", "--no-prove", "--output", "PATH/x"),
    ("policies", "docs", "lib", "--output", "PATH"),
    ("policies", "check", "PATH"),
    ("package", "-d", "PATH/x"),
    ("adopt", "p.yaml", "--folder", "PATH", "--kyverno", "1.18", "--kubernetes", "1.34"),
    ("serve", "-p", "p.yaml", "--tls-folder", "PATH", "--print-webhooks"),
    ("init", "PATH", "--kubernetes", "1.34"),
    ("render", "--project", "PATH"),
    ("test", "PATH"),
    ("report", "merge", "PATH"),
)
_KEYS = ("charts: PATH", "manifests: PATH", "library: [PATH]", "charts: PATH\nmanifests: PATH")
_IN_PROJECTS: tuple[tuple[str, ...], ...] = (
    ("render", "--check"),
    ("check-compat",),
    ("package",),
    ("diff", "dev", "--against", "HEAD"),
    ("promote", "--candidates", "--to", "dev", "--evidence", "p.yaml"),
)


@pytest.fixture(params=["loop", "file"])
def odd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(_POLICY)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "p.yaml").write_text(_POLICY)
    (tmp_path / "v.yaml").write_text("replicaCount: 3\n")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("x")
    return str(request.param)


def _code(*arguments: str) -> int:
    return int(error_of(SystemExit, main, list(arguments)).code or 0)


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_a_path_that_cannot_be_used(command: tuple[str, ...], odd: str) -> None:
    assert _code(*(each.replace("PATH", odd) for each in command)) in (0, 1, 2)


@pytest.mark.parametrize("command", _IN_PROJECTS, ids=" ".join)
@pytest.mark.parametrize("key", _KEYS)
@pytest.mark.parametrize("odd", ["loop"], indirect=True)
def test_a_path_of_a_project_that_cannot_be_used(
    command: tuple[str, ...], key: str, odd: str
) -> None:
    Path("chartkit.yaml").write_text(f"{key.replace('PATH', odd)}\n{_PROJECT}")
    assert _code(*command) in (0, 1, 2)
