"""The front door of the engine: what is declared for type checkers is what loads."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import chartkit.engine


def test_each_name_of_the_engine_is_declared_and_loads() -> None:
    tree = ast.parse(Path(chartkit.engine.__file__).read_text("utf-8"))
    declared = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("chartkit.engine.")
        for alias in node.names
    }
    modules = {name: f"chartkit.engine.{home}" for name, home in chartkit.engine.MODULES.items()}
    assert declared == modules
    for name, home in modules.items():
        assert getattr(chartkit.engine, name) is getattr(import_module(home), name)


def test_a_name_that_the_engine_has_not() -> None:
    with pytest.raises(AttributeError, match=r"module 'chartkit\.engine' has no attribute 'Nope'"):
        getattr(chartkit.engine, "Nope")  # noqa: B009
