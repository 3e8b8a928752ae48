"""Windows, as far as another system can check it (`tests/windows.py`)."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import chartkit
from tests.e2e.command import snapshot
from tests.shared import ROOT

PACKAGE = Path(chartkit.__file__).parent
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: pod%d}
spec: {hostNetwork: true, containers: [{name: a, image: "registry.example.com/a:1"}]}
"""


def run(folder: Path, module: str, *arguments: str) -> tuple[int, str, str]:
    (folder / "tmp").mkdir(exist_ok=True)  # Other processes clear folders without POSIX's locks.
    place = {"TMPDIR": str(folder / "tmp"), "CHARTKIT_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, **place, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_commands_answer_the_same_without_posix(tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text("---\n".join(POD % number for number in range(300)))
    scan = ("scan", "pods.yaml", "-p", "pss-baseline", "--jobs", "2", "-o", "json")
    expected = run(tmp_path, "chartkit", *scan)
    assert expected[0] == 1
    assert run(tmp_path, "tests.windows", *scan) == expected


_PROJECT = """\
profiles: [pss-baseline]
environments:
  prd: {kyverno: "1.19", kubernetes: "1.35", highAvailability: true}
workloads: [workloads]
"""


@pytest.mark.slow
def test_a_project_is_rendered_the_same_without_posix(tmp_path: Path) -> None:
    for module in ("chartkit", "tests.windows"):
        folder = tmp_path / module
        folder.mkdir()
        assert run(folder, module, "init", "project")[0] == 0
        (folder / "project" / "chartkit.yaml").write_text(_PROJECT, newline="\n")
        code, out, err = run(folder, module, "render", "--project", "project")
        assert code == 0, out + err
    kept, other = (
        snapshot(tmp_path / "chartkit/project"),
        snapshot(tmp_path / "tests.windows/project"),
    )
    assert sorted(kept) == sorted(name for name in other if not name.endswith(".chartkit.lock"))
    assert [name for name in kept if kept[name] != other[name]] == []


def _text_files(tree: ast.AST) -> list[ast.Call]:
    """The calls that read or write text with the line ends or the encoding of the system, of which
    Windows has others."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not any(key.arg == "newline" for key in node.keywords):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            opens = isinstance(node.func, ast.Name) and node.func.id == "open"
            text = ast.unparse(node)
            reads = name == "read_text" and not node.args
            writes = opens and "'w'" in text and "os.devnull" not in text
            if name == "write_text" or reads or writes:
                found.append(node)
    return found


@pytest.mark.parametrize("folder", sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
def test_files_have_the_same_line_ends_everywhere(folder: str) -> None:
    for file in (PACKAGE / folder).rglob("*.py"):
        source = file.read_text("utf-8")
        if "write_text" in source or "read_text" in source or "open(" in source:
            assert not _text_files(ast.parse(source)), file


def test_a_text_file_without_line_ends_is_found() -> None:
    source = "p.write_text(t)\nopen(p, 'w')\np.write_text(t, newline='')\nopen(os.devnull, 'w')"
    source += "\np.read_text()\np.read_text('utf-8')"
    assert len(_text_files(ast.parse(source))) == 3
