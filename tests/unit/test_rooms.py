"""The rooms of the package: how many, how full, and in which direction they import."""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import chartkit

PACKAGE = Path(chartkit.__file__).parent
TESTS = Path(__file__).parents[1]
MOST = 20
"""The most modules in a folder, its `__init__` among them."""
MOST_ROOMS = 20
"""The most packages at the top."""
LONGEST_FUNCTION = 60
"""The most lines of a function, its signature and docstring among them."""
LONGEST_MODULE = 500
"""The most lines of a module."""


def _rooms() -> Iterator[Path]:
    """Every folder of the package with code in it."""
    for folder in (PACKAGE, *PACKAGE.rglob("*")):
        if folder.is_dir() and any(folder.glob("*.py")):
            yield folder


def test_top_level_fits_a_screen() -> None:
    packages = [each for each in _rooms() if each.parent == PACKAGE]
    assert len(packages) <= MOST_ROOMS


def test_no_room_is_crowded() -> None:
    modules = {each: len([*each.glob("*.py")]) for each in _rooms()}
    assert {str(each): count for each, count in modules.items() if count > MOST} == {}


@pytest.mark.slow
def test_no_function_and_no_module_is_long() -> None:
    """What is read from top to bottom fits a page."""
    long = {}
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text("utf-8")
        where = str(file.relative_to(PACKAGE))
        if text.count("\n") > LONGEST_MODULE:
            long[where] = text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long[f"{where}: {node.name}"] = lines
    assert long == {}


def test_every_room_says_what_it_is() -> None:
    docs = {
        each: ast.get_docstring(ast.parse((each / "__init__.py").read_text())) for each in _rooms()
    }
    assert [str(each) for each, doc in docs.items() if not doc] == []


def test_imports_point_downwards() -> None:
    """The contracts in pyproject.toml, every import counted, those for typing alone included."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [str(program), "--no-cache"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_names_of_tests_are_unique() -> None:
    """A red line of CI names what broke, without its path."""
    files: dict[str, list[str]] = defaultdict(list)
    for file in TESTS.rglob("test_*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                files[node.name].append(str(file.relative_to(TESTS)))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}
