"""Environments are made when they are asked for; names beyond theirs may be declared."""

import subprocess
import sys

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, compile_expression, declaring


def test_an_environment_imports_what_it_needs_alone() -> None:
    code = (
        "import sys; from chartkit.engine.cel.environments import ENVIRONMENTS; "
        "ENVIRONMENTS['standard']; "
        "print(*[name for name in sys.modules if name.startswith('chartkit.engine.cel.library.k')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_line_starts_without_cel() -> None:
    code = "import sys, chartkit.cli.eval; print('chartkit.engine.cel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_environment_is_made_once() -> None:
    assert ENVIRONMENTS["k8s"] is ENVIRONMENTS["k8s"]
    assert "k8s" in ENVIRONMENTS
    assert "Object" not in ENVIRONMENTS
    assert len(ENVIRONMENTS) == len(list(ENVIRONMENTS))


def test_names_that_an_environment_has_not() -> None:
    environment = declaring(ENVIRONMENTS["k8s"], ["limit", "request"])
    assert compile_expression("limit + 1", environment).evaluate({"limit": 1}) == 2
    with pytest.raises(CelCompileError, match="undefined field 'nope'"):
        compile_expression("request.nope", environment)
    assert declaring(ENVIRONMENTS["k8s"], ["object"]) is ENVIRONMENTS["k8s"]


@pytest.mark.parametrize("name", ["vpol", "dpol", "ivpol"])
def test_a_policys_variables_are_known_once_they_are_given(name: str) -> None:
    with pytest.raises(CelCompileError, match="undefined field 'a'"):
        compile_expression("variables.a", ENVIRONMENTS[name])
    environment = declaring(ENVIRONMENTS[name], ["variables"])
    assert compile_expression("variables.a", environment).evaluate({"variables": {"a": 1}}) == 1
